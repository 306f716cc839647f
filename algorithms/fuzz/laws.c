/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The fuzz target: libFuzzer's bytes become the calls of one connection, which is run
 * twice and must end in the same state. EBB_FUZZ_LAW names the law. With EBB_FUZZ_RECOVERY set
 * the bytes are one bad segment, from which the law has to recover.
 */
#include "planted.h"
#include "recovery.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *bytes, unsigned long count);

static const struct ebb_native_receiver_law *receiver_law;
static const struct ebb_native_sender_law *sender_law;
static struct subject runs[2];
static u8 is_about_recovery;

static void choose(const char *name)
{
	u32 i;

	for (i = 0; i < ebb_native_receiver_law_count; i++)
		if (!strcmp(ebb_native_receiver_laws[i].name, name))
			receiver_law = &ebb_native_receiver_laws[i];
	for (i = 0; i < ebb_native_sender_law_count; i++)
		if (!strcmp(ebb_native_sender_laws[i].name, name))
			sender_law = &ebb_native_sender_laws[i];
	if (!strcmp(planted_receiver_law.name, name))
		receiver_law = &planted_receiver_law;
	for (i = 0; i < PLANTED_LAWS; i++)
		if (!strcmp(planted_laws[i].name, name))
			sender_law = &planted_laws[i];
}

static void prepare(struct subject *run)
{
	run->name = receiver_law ? receiver_law->name : sender_law->name;
	run->param_list = receiver_law ? receiver_law->params : sender_law->params;
	run->param_count = receiver_law ? receiver_law->param_count : sender_law->param_count;
	run->state_bytes = receiver_law ? receiver_law->state_bytes : sender_law->state_bytes;
	REQUIRE(run->state_bytes % sizeof(u64) == 0 &&
			run->state_bytes + GUARD_WORDS * sizeof(u64) <= MAX_STATE_BYTES,
		"%s: a state of %u bytes: raise MAX_STATE_BYTES", run->name, run->state_bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("EBB_FUZZ_LAW");

	(void)argc;
	(void)argv;
	is_about_recovery = !!getenv("EBB_FUZZ_RECOVERY");
	if (name)
		choose(name);
	if (!receiver_law && !sender_law) {
		fprintf(stderr, "EBB_FUZZ_LAW=%s: set it to the name of a law, such as cubic\n",
			name ? name : "");
		exit(2);
	}
	prepare(&runs[0]);
	prepare(&runs[1]);
	runs[0].stack_byte = 0x00;
	runs[1].stack_byte = 0xff;
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *bytes, unsigned long count)
{
	struct input whole = {.at = bytes, .left = count};
	u32 i;

	if (is_about_recovery) {
		if (receiver_law)
			recover_receiver(receiver_law, &runs[0], &whole);
		else
			recover_sender(sender_law, &runs[0], &whole);
		return 0;
	}
	for (i = 0; i < 2; i++) {
		struct input in = {.at = bytes, .left = count};

		if (receiver_law)
			run_receiver(receiver_law, &runs[i], &in);
		else
			run_sender(sender_law, &runs[i], &in);
	}
	REQUIRE(!memcmp(runs[0].state, runs[1].state, runs[0].state_bytes),
		"%s: the same calls give two states", runs[0].name);
	return 0;
}
