export PYTHON=$(command -v python3)
timeout 570 bash bench/gpu_step.sh $OUT/gpu_spine.txt > $OUT/log.txt 2>&1; echo rc $?; cat $OUT/gpu_spine.txt; tail -30 $OUT/log.txt
