/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_device.h - the text of ia_params where it names a device:
 * "<device> <port> [gid=<index>]".
 *
 * Text only: whether there is such a device shows when it is opened.
 */
#ifndef DCM_DEVICE_H
#define DCM_DEVICE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "dapl/common/cm/dcm/dcm_path.h"

struct dcm_device {
	char name[IBV_SYSFS_NAME_MAX];
	uint8_t port;
	struct dcm_path_wish wish;
};

/*
 * Reads TEXT (hostile; NULL is empty). 0, or -EINVAL with *RET_WHY, a literal
 * that goes into the sentence "ia_params ...: <why>".
 */
int dcm_device_parse(const char *text, struct dcm_device *ret_device,
		     const char **ret_why);

#endif
