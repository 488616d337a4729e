/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * message.c - what dtestsrq sends, and whether that is what arrived.
 *
 * Does not move anything. Threads: safe. Ownership: the caller's buffers.
 * Rule: byte 0 says who sent it, then endpoint and number in network order.
 * Byte 1 is unused in the historic tool; this one says there that the rest of
 * the message follows a pattern. An older peer does not look at either.
 */
#include "test/dtestsrq/dtestsrq.h"

#include <endian.h>
#include <string.h>

#define FROM_CLIENT 0x55
#define FROM_SERVER 0xaa
#define HAS_PATTERN 0xd7

static uint8_t pattern(uint32_t ep, uint32_t number, uint32_t offset)
{
	return (uint8_t)(ep * 31 + number * 7 + offset);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

void dsrq_fill(uint8_t *msg, uint32_t size, bool server, uint32_t ep,
	       uint32_t number)
{
	msg[0] = server ? FROM_SERVER : FROM_CLIENT;
	msg[1] = HAS_PATTERN;
	msg[2] = msg[3] = 0;
	put32(msg + 4, ep);
	put32(msg + 8, number);
	for (uint32_t i = DSRQ_HEADER; i < size; i++)
		msg[i] = pattern(ep, number, i);
}

uint32_t dsrq_sender(const uint8_t *msg)
{
	return get32(msg + 4);
}

struct dsrq_fault dsrq_check(const uint8_t *msg, uint32_t size,
			     bool from_server, uint32_t ep, uint32_t number)
{
	uint8_t sender = from_server ? FROM_SERVER : FROM_CLIENT;

	if (msg[0] != sender)
		return (struct dsrq_fault){"first byte", msg[0], sender};
	if (get32(msg + 4) != ep)
		return (struct dsrq_fault){"endpoint", get32(msg + 4), ep};
	if (get32(msg + 8) != number)
		return (struct dsrq_fault){"number", get32(msg + 8), number};
	for (uint32_t i = DSRQ_HEADER; msg[1] == HAS_PATTERN && i < size; i++)
		if (msg[i] != pattern(ep, number, i))
			return (struct dsrq_fault){"data", msg[i],
						   pattern(ep, number, i)};
	return (struct dsrq_fault){"", 0, 0};
}
