export PYTHON=python3
(cmake --preset release -DBRAID_PYTHON=$(which python3) && time ninja -k0 -C build) > $OUT/build.log 2>&1
grep -E "error|FAILED:" -A6 $OUT/build.log | cut -c1-300 | head -60
tail -2 $OUT/build.log
fail() { echo "FAIL $1"; grep -E "^\[  FAILED" $2 | grep -v "tests, listed" | cut -c1-160 | sort -u | head -25; }
mkdir -p $OUT/l
for t in build/tests/*_tests; do n=$(basename $t); case $n in parity_tests) for i in 0 1 2 3 4 5; do (GTEST_TOTAL_SHARDS=6 GTEST_SHARD_INDEX=$i timeout 300 $t --gtest_filter='-*ParityOnGpu*' > $OUT/l/$n.$i 2>&1 || fail $n.$i $OUT/l/$n.$i) & done;; *) (timeout 300 $t > $OUT/l/$n 2>&1 || fail $n $OUT/l/$n) & ;; esac; done
wait
for i in 0 1 2 3 4 5 6 7; do (GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=$i timeout 250 build/tests/parity_tests --gtest_filter='*ParityOnGpu*' > $OUT/l/gpu.$i 2>&1 || fail gpu.$i $OUT/l/gpu.$i) & done; wait
cat $OUT/l/* | gzip > $OUT/all.gz; rm -r $OUT/l
