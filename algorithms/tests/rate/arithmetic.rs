// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The integer arithmetic of `rate/measure.h` against floating point: exp(-x), and the
//! mean time between losses of the BWSS paper's appendix. The functions are no law's hooks,
//! so that a small C program prints what they answer.

use std::fmt::Write as _;
use std::process::Command;

/// Compiles a program around the header and answers the numbers that it prints.
fn print_from_c(name: &str, body: &str) -> Vec<f64> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("main.c"), folder.join("main"));
    let text =
        format!("#include \"rate/measure.h\"\n#include <stdio.h>\nint main(void)\n{{\n{body}}}\n");
    std::fs::write(&source, text).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args([
            "-std=c11",
            "-O1",
            "-Wall",
            "-Werror",
            "-fsanitize=undefined",
        ])
        .arg("-fsanitize-undefined-trap-on-error")
        .args(["-I", env!("CARGO_MANIFEST_DIR"), "-o"])
        .args([&program, &source])
        .status()
        .expect("the compiler that built the laws");
    assert!(status.success());
    let output = Command::new(&program).output().unwrap();
    assert!(
        output.status.success(),
        "undefined behaviour, or no program"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn difference_8_exp_is_within_three_thousandths() {
    let loops = "for (u64 x = 0; x < 20 * 65536; x += 97)\n\
                 printf(\"%llu\\n\", ebb_rate_exp_minus_x65536(x));\n";
    for (index, answer) in print_from_c("exp", loops).into_iter().enumerate() {
        let x = (index * 97) as f64 / 65536.0;
        let error = (answer / 65536.0 - (-x).exp()).abs();
        assert!(error < 0.003, "exp(-{x}): {error}");
    }
}

/// I = (1 - exp(-c / I')) c + exp(-c / I') I', weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2.
fn oracle_us(intervals_us: &[f64], since_us: f64) -> f64 {
    let weights = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
    let pairs = || intervals_us.iter().zip(weights);
    let sum: f64 = pairs()
        .map(|(interval_us, weight)| interval_us * weight)
        .sum();
    let past_us = sum / pairs().map(|(_, weight)| weight).sum::<f64>();
    let rest = (-since_us / past_us).exp();
    (1.0 - rest) * since_us + rest * past_us
}

#[test]
fn the_mean_time_between_losses_is_the_papers() {
    // Latest first.
    let histories: [&[u32]; 4] = [
        &[400_000],
        &[100_000, 900_000, 200_000],
        &[
            1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 6_000_000, 7_000_000, 8_000_000,
        ],
        &[4_000_000_000, 1],
    ];
    let since_us: [u32; 5] = [0, 50_000, 700_000, 10_000_000, 4_000_000_000];
    let mut body = String::new();
    for history in histories {
        let list = format!("{history:?}").replace(['[', ']'], "");
        for since_us in since_us {
            writeln!(
                body,
                "{{ struct ebb_rate_measure m = {{.interval_us = {{{list}}}, \
                 .interval_count = {}, .loss_at_us = 7}};\n\
                 printf(\"%llu\\n\", ebb_rate_interval_us(&m, 7ull + {since_us}u)); }}",
                history.len()
            )
            .unwrap();
        }
    }
    let mut answers = print_from_c("interval", &body).into_iter();
    for history in histories {
        let intervals_us: Vec<f64> = history.iter().map(|us| f64::from(*us)).collect();
        for since_us in since_us {
            let expected_us = oracle_us(&intervals_us, f64::from(since_us));
            let answer_us = answers.next().unwrap();
            let error = (answer_us - expected_us).abs() / expected_us;
            assert!(
                error < 0.005,
                "{history:?}, {since_us}: {answer_us}, not {expected_us}"
            );
        }
    }
}
