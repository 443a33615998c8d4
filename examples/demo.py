"""Learn Dec-Tiger and Box pushing by playing (`make demo`), and print the controllers and their exact values."""

import decpomdp as dp

STEPS = {"dectiger": 20_000_000, "boxpushing": 200_000_000}  # played; the result is the same on every machine
# published values: the learners Dec-SBPR and MCEM, and the planner FB-HSVI, which knows the model
PUBLISHED = {"dectiger": (-18.63, -32.31, 13.45), "boxpushing": (77.65, 59.95, 224.43)}


def main() -> None:
    for problem, (sbpr, mcem, planner) in PUBLISHED.items():
        steps = STEPS[problem]
        print(
            f"== learning {problem}, {steps:,} steps: the learner plays episodes and never sees the model", flush=True
        )
        model = dp.load(problem)
        fit = dp.learn(model, steps=steps, seed=1, progress=True)
        exact = dp.evaluate(fit.team, model)
        print()
        print(fit.team.in_words())
        print(f"exact value {exact.value:.4f} with {'+'.join(map(str, fit.team.nodes))} nodes")
        print(f"published: Dec-SBPR {sbpr}, MCEM {mcem}; with the model known, FB-HSVI {planner}\n")


if __name__ == "__main__":
    main()
