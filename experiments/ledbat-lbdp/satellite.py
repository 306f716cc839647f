#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes a satellite channel as a trace: times in ms at which a packet of 1500 bytes leaves.

A stand-in for a recorded trace that is not public. LTE in the S band, a suburban user at 60 km/h,
GEO at 40 degrees of elevation: fast fading (coherence of some ms) is averaged out by interleaving
over 36 ms; shadowing by houses and trees is not. It comes and goes as a chain of two states, and
a block of 36 ms that is shadowed is sent again (ARQ), so that it takes capacity and loses nothing.
Rates are such that 2.3 Mbit/s are left on average, which is what the user has.

usage: satellite.py SECONDS SHADOWED_SHARE [SEED] > satellite.trace
"""
import random
import sys

RATE_BITS_PER_S = 2.3e6
BLOCK_S = 0.036
SPEED_M_PER_S = 60 / 3.6
SHADOW_M = 5.0  # mean length of what shadows: a house, some trees
SEED = 40


def main():
    duration_s, share = float(sys.argv[1]), float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else SEED
    random.seed(seed)
    leave = BLOCK_S * SPEED_M_PER_S / SHADOW_M
    enter = leave * share / (1 - share)
    blocks = round(duration_s / BLOCK_S)
    is_shadowed, shadowed = False, []
    for _ in range(blocks):
        is_shadowed = random.random() < (1 - leave if is_shadowed else enter)
        shadowed.append(is_shadowed)
    packets = RATE_BITS_PER_S * duration_s / 12000 / shadowed.count(False)
    what = f"{100 * share:g} % of them shadowed" + (f", seed {seed}" if seed != SEED else "")
    print(f"# 2.3 Mbit/s, blocks of 36 ms, {what}; satellite.py makes it.")
    credit = 0.0
    for block, is_lost in enumerate(shadowed):
        if is_lost:
            continue
        whole = int(credit + packets) - int(credit)
        credit += packets
        for packet in range(whole):
            print(round(1000 * BLOCK_S * (block + packet / whole)) or 1)


main()
