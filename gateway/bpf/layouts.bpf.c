// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* No programs: the structs that these share with their owner, who has them in Rust from here. */
#include "maps.h"

enum ebb_layout {
	EBB_LAW_OFFSET = __builtin_offsetof(struct ebb_half, law),
	EBB_HALF_BYTES = sizeof(struct ebb_half),
};

struct ebb_layouts {
	struct ebb_gateway_control control;
	struct ebb_gateway_config config;
	struct ebb_gateway_counters counters;
	struct ebb_rule_counters counters_of_rule;
	struct ebb_connection connection;
	struct ebb_half_head head;
	struct ebb_rule rule;
	struct ebb_subject subject;
	struct ebb_verdict verdict;
	enum ebb_layout layout;
};

struct ebb_layouts layouts SEC(".data.layouts") = {};
