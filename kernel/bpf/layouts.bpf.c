// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Never loaded. What the programs and their owner share, once each, so that the type
 * information of this object has all of it: build.rs makes the structs of src/layout.rs from
 * that, and nobody writes them a second time.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"

#define EBB_SHARED SEC(".data.shared")

enum ebb_constant constant EBB_SHARED = 0;
enum ebb_wish wish EBB_SHARED = 0;
enum ebb_trace_kind trace_kind EBB_SHARED = 0;
struct ebb_control control EBB_SHARED = {};
struct ebb_config config EBB_SHARED = {};
struct ebb_counters counters EBB_SHARED = {};
struct ebb_peer peer EBB_SHARED = {};
struct ebb_flow_record flow_record EBB_SHARED = {};
struct ebb_ruling ruling EBB_SHARED = {};
struct ebb_paths *paths EBB_SHARED = 0;
struct ebb_new_group new_group EBB_SHARED = {};
struct ebb_claim claim EBB_SHARED = {};
struct ebb_claimed claimed EBB_SHARED = {};
struct ebb_trace_record trace_record EBB_SHARED = {};
struct ebb_sender_trace_record sender_trace_record EBB_SHARED = {};
