import { randomInt } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import fc from 'fast-check'
import t from 'tap'

/** One way to read the same thing twice. */
export interface Fuzzer<Input> {
  readonly inputs: fc.Arbitrary<Input>
  /** Throws where the two readers disagree. */
  readonly check: (input: Input) => void | Promise<void>
  /** The input as a person copies it into a test; as fast-check prints it where absent. */
  readonly show?: (input: Input) => string
}

/** How long each fuzzer runs. `npm run fuzz` sets more. */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? (process.env.CI === 'true' ? 8 : 4))
/** `FUZZ_SEED=7` repeats a run from its first input on. */
const SEED = process.env.FUZZ_SEED === undefined ? randomInt(2 ** 31) : Number(process.env.FUZZ_SEED)
/** Inputs between two looks at the clock. */
const ROUND = 200
/** How long the last round of a fuzzer may take, seconds. */
const ROUND_SECONDS = 60
/** What the fuzzers of a file may take together, milliseconds: more than the usual time of a test. */
let fileTimeout = 0

/**
 * A test that draws inputs until its time is over, and fails with the smallest input on which the two readers disagree. The
 * seed is in the test's name; round n draws from seed + n.
 */
export function fuzz<Input>(what: string, { inputs, check, show = fc.stringify }: Fuzzer<Input>): void {
  const options = { timeout: (SECONDS + ROUND_SECONDS) * 1000 }
  fileTimeout += options.timeout
  t.setTimeout(fileTimeout)
  t.test(`${what} (FUZZ_SEED=${SEED}, ${SECONDS} s)`, options, async t => {
    const property = fc.asyncProperty(inputs, async input => check(input))
    const until = performance.now() + SECONDS * 1000
    let runs = 0
    for (let seed = SEED; performance.now() < until; seed++) {
      const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: ROUND })
      if (failed && counterexample !== null) {
        t.fail(`FUZZ_SEED=${seed} finds: ${show(counterexample[0])}\n${errorInstance}`)
        return
      }
      runs += ROUND
    }
    t.ok(runs > 0, `${runs} inputs agree, FUZZ_SEED=${SEED}`)
  })
}
