import t from 'tap'
import { type Mutation, runMutated } from '../helpers/mutated.js'

// The tests that look for secrets must find them: each runs without what hides secrets in the product, and has to fail where that was.

const TESTS: readonly (readonly [file: string, mutations: readonly Mutation[], found: readonly RegExp[]])[] = [
  [
    'faults/credential-canaries',
    [
      // The words of an upstream's error, for the log.
      ['kernel/upstream-words.js', 'secrets.reduce(withoutParts, cleaned)', 'cleaned'],
      ['kernel/translate/words.js', 'for (const secret of secrets) {', 'for (const secret of []) {'],
      // Its error as it is, for clients.
      ['kernel/passed-refusal.js', 'secrets.some(secret => text.includes(secret))', 'secrets.includes(text)'],
    ],
    [/not ok \d+ - log has canary-upstream-/, /not ok \d+ - answers of header has canary-upstream-/],
  ],
  [
    'e2e/machine-canaries',
    // Tokens and sessions are not known as secrets.
    [['credentials/caching-signer.js', 'this.secretsOf(present)', '[]']],
    [/not ok \d+ - error has a secret/, /not ok \d+ - log has a secret/],
  ],
]

for (const [file, mutations, found] of TESTS) {
  t.test(`a secret that leaks is found by ${file}`, async t => {
    const { failed, output } = await runMutated(file, mutations)
    t.equal(failed, true)
    for (const one of found) t.match(output, one)
    t.notMatch(output, 'MUTATION MISSED')
  })
}
