"""The benchmark's output: what it prints and writes, never how fast anything is.

    bench_test.py BENCH
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import unittest_main

BENCH = ""
# Far above what it takes, also where the processors are shared.
TIMEOUT_S = 240

FIELDS = {"name", "value", "unit", "low", "high", "rounds", "numerator", "denominator"}

# They are compared over time, so they stay as they are.
NAMES = """
    roundtrip_shm_us roundtrip_shm_cold_us roundtrip_op_shm_us roundtrip_shm_vs_grpc_unary
    roundtrip_unix_vs_raw roundtrip_tcp_vs_raw alloc_free_shm_us
    commands_per_second_shm commands_per_second_tcp commands_per_second_grpc small_ops_per_second_shm
    copy_htod_shm_vs_memcpy copy_dtoh_shm_vs_memcpy copy_map_vs_memcpy copy_host_alloc_vs_memcpy
    copy_htod_tcp_vs_raw copy_dtoh_tcp_vs_raw copy_htod_grpc_vs_raw_tcp
    gemm_f64_1000_remote_vs_local train_digits_remote_vs_local
    program_replay_vs_ops idle_cpu_percent
    small_op_us_t1 small_op_us_t2
    gemm_f64_64_vs_best_t1 gemm_f64_64_vs_best_t2 gemm_f32_64_vs_best_t1 gemm_f32_64_vs_best_t2
    gemm_f64_256_vs_best_t1 gemm_f64_256_vs_best_t2 gemm_f32_256_vs_best_t1 gemm_f32_256_vs_best_t2
    gemm_f64_1024_vs_best_t1 gemm_f64_1024_vs_best_t2
    gemm_f32_1024_vs_best_t1 gemm_f32_1024_vs_best_t2
    gemm_bf16_1024_vs_f32_t1 gemm_bf16_1024_vs_f32_t2
    batched_gemm_f32_32x512_vs_loop_t1 batched_gemm_f32_32x512_vs_loop_t2
    softmax_4096x4096_vs_memcpy_t1 softmax_4096x4096_vs_memcpy_t2
    unary_exp_16M_vs_memcpy_t1 unary_exp_16M_vs_memcpy_t2
    unary_relu_16M_vs_memcpy_t1 unary_relu_16M_vs_memcpy_t2
    binary_add_16M_vs_triad_t1 binary_add_16M_vs_triad_t2
    reduce_sum_16M_vs_read_t1 reduce_sum_16M_vs_read_t2
    reduce_sum_cols_4096x4096_vs_read_t1 reduce_sum_cols_4096x4096_vs_read_t2
    gather_256cols_sorted_vs_memcpy_t1 gather_256cols_sorted_vs_memcpy_t2
    gather_256cols_random_vs_memcpy_t1 gather_256cols_random_vs_memcpy_t2
    attention_f32_b1h8s1024d64_vs_gemms_t1 attention_f32_b1h8s1024d64_vs_gemms_t2
    attention_causal_f32_b1h8s1024d64_vs_gemms_t1 attention_causal_f32_b1h8s1024d64_vs_gemms_t2
    shape_cliffs_unary shape_cliffs_binary shape_cliffs_reduce shape_cliffs_softmax
    shape_cliffs_gather shape_cliffs_scatter shape_cliffs_gemm shape_cliffs_gemm_f64
    shape_cliffs_gemm_mixed_precision shape_cliffs_batched_gemm
    shape_cliffs_conv_fwd shape_cliffs_conv_bwd_data shape_cliffs_conv_bwd_filter
    shape_cliffs_attention
""".split() + [
    f"conv_{direction}_{shape}_b{batch}_vs_onednn_t{threads}"
    for direction in ("fwd", "bwd_data", "bwd_filter")
    for batch in (1, 8)
    for shape in ("64x56x56_3x3", "256x14x14_3x3", "3x224x224_7x7s2", "512x7x7_1x1")
    for threads in (1, 2)
]


def run(*arguments):
    return subprocess.run(
        [BENCH, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


class BenchTest(unittest.TestCase):
    def test_prints_and_writes_what_it_measures(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.json")
            result = run("--quick", "--filter", "^commands_per_second_grpc$", "--json", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                figures = json.load(file)
        self.assertRegex(result.stdout, r"^commands_per_second_grpc \d+ 1/s\n$")
        self.assertEqual(len(figures), 1)
        figure = figures[0]
        self.assertEqual(set(figure), FIELDS)
        self.assertEqual(figure["name"], "commands_per_second_grpc")
        self.assertEqual(figure["unit"], "1/s")
        self.assertEqual(figure["rounds"], 2)
        self.assertGreater(figure["low"], 0)
        self.assertLessEqual(figure["low"], figure["value"])
        self.assertLessEqual(figure["value"], figure["high"])
        self.assertIsNone(figure["numerator"])
        self.assertIsNone(figure["denominator"])

    def test_has_every_figure(self):
        result = run("--filter", "^no such figure$")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        listed = result.stderr.split("none of ")[1].rstrip(".\n").split()
        self.assertEqual(listed, NAMES)

    def test_refuses_wrong_flags(self):
        for arguments in (["--filter", "("], ["--speed"], ["word"]):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, r"^bench: .*\.\n$")


if __name__ == "__main__":
    BENCH = os.path.abspath(sys.argv.pop())
    unittest_main.main()
