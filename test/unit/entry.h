/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * entry.h - the entry points of a provider without the core: what they hand to
 * it, and an open that is refused; over cm_world.h.
 *
 * In place of dapl/common/plugin, which must not be linked. Threads: one.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#include <string.h>

#include "dapl/common/plugin/dapl_register.h"
#include "dapl/common/services/dapl_log.h"
#include "test/unit/case.h"
#include "test/unit/cm_world.h"

const char *dapl__fail_text(void);

static struct {
	const struct dapl_cm_ops *ops;
	const DAT_PROVIDER_INFO *info;
	const char *ia_params;
	int registered;
} registry;

void dapl_provider_register(const struct dapl_cm_ops *ops,
			    const DAT_PROVIDER_INFO *info,
			    const char *ia_params)
{
	registry.ops = ops;
	registry.info = info;
	registry.ia_params = ia_params;
	registry.registered++;
}

void dapl_provider_unregister(const struct dapl_cm_ops *ops,
			      const DAT_PROVIDER_INFO *info)
{
	assert_ptr_equal(ops, registry.ops);
	assert_ptr_equal(info, registry.info);
	registry.registered--;
}

/* It registers a table in which nothing is missing. */
static inline void entry_is_full(const char *name, int default_inline)
{
	const DAT_PROVIDER_INFO info = {.ia_name = "ofa-v2-test"};
	const struct dapl_cm_ops *o;

	dat_provider_init(&info, "ib0 0");
	assert_int_equal(registry.registered, 1);
	assert_string_equal(registry.ia_params, "ib0 0");
	o = registry.ops;
	assert_string_equal(o->name, name);
	assert_int_equal(o->default_inline, default_inline);
	assert_true(o->open && o->start && o->stop && o->close && o->max_pdata);
	assert_true(o->listen && o->unlisten && o->prepare && o->connect);
	assert_true(o->accept && o->reject && o->disconnect && o->release &&
		    o->addrs);
	dat_provider_fini(&info);
	assert_int_equal(registry.registered, 0);
}

/* S opens with TEXT: RET, and a reason that has WHY in it. */
static inline void entry_refuses(struct side *s, const char *text, int ret,
				 const char *why)
{
	assert_int_equal(side_try_open(s, text), ret);
	if (!strstr(dapl__fail_text(), why))
		fail_msg("\"%s\" does not say \"%s\"", dapl__fail_text(), why);
}

static inline void entry_shut(struct side *s)
{
	s->cm->ops->stop(s->cm);
	s->cm->ops->close(s->cm);
	vb_close(&s->dev);
	dapl_loop_close(s->loop);
}

#endif
