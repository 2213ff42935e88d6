# What measures.
.PHONY: bench bench-scale bench-translate bench-peer bench-corpus

# They take SHAPES, THREADS, REPEAT, STEP_SECONDS, TSV, PRECISION, SET and others from make's command line: see
# docs/speed.md. With what bench-translate takes, bench goes on with that.
BENCH = $(BUILD)/tests/bench/bench
bench: packages ## measure training by op, beside this machine's peaks: make bench SHAPES="toy base" REPEAT=3
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH)
	@$(BENCH) train
	@[ -z '$(PEER)$(RUN)' ] || $(MAKE) --no-print-directory bench-translate
bench-scale: packages ## how cost grows with sentences, vocabulary, width, threads, batches of translation
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH)
	@$(BENCH) scale
bench-translate: packages ## translation beside PyTorch: make bench-translate RUN=folder DATA=folder PEER=script
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH) ferry
	@BENCH='$(BENCH)' RUN='$(RUN)' DATA='$(DATA)' PEER='$(PEER)' tests/bench/translate.sh
bench-peer: packages ## ferry beside another program: make bench-peer DATA=folder PEER='command'
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@DATA='$(DATA)' PEER='$(PEER)' FLAGS='$(FLAGS)' tests/bench/peer.sh

$(BUILD)/tests/bench/bench: $(BENCH_SRC:%.c=$(BUILD)/%.o) $(call objects,$(BUILD))
	$(LINK) -o $@ $^ $(LIBS)

bench-corpus: packages ## memory and start-up time on a large corpus: make bench-corpus [MB=2000] [DATA=folder]
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@DATA='$(DATA)' MB='$(MB)' STEPS='$(STEPS)' tests/bench/corpus.sh
