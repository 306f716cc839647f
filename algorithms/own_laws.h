/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Laws of one's own, as lists beside those of receiver_laws.h and sender_laws.h: those of the
 * header EBB_OWN_LAW if that is defined, and empty ones otherwise. docs/laws/own-law.md says what
 * the header has to have.
 */
#ifndef EBB_OWN_LAWS_H
#define EBB_OWN_LAWS_H

#ifdef EBB_OWN_LAW
#include EBB_OWN_LAW
#endif

/* A header has those of the lists that it needs. */
#ifndef EBB_OWN_RECEIVER_LAWS
#define EBB_OWN_RECEIVER_LAWS(X)
#endif
#ifndef EBB_OWN_ON_ACK_LAWS
#define EBB_OWN_ON_ACK_LAWS(X)
#endif
#ifndef EBB_OWN_ACK_DELAY_LAWS
#define EBB_OWN_ACK_DELAY_LAWS(X)
#endif
#ifndef EBB_OWN_BUNDLE_LAWS
#define EBB_OWN_BUNDLE_LAWS(X)
#endif
#ifndef EBB_OWN_SENDER_LAWS
#define EBB_OWN_SENDER_LAWS(X)
#endif

#endif /* EBB_OWN_LAWS_H */
