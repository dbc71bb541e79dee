import t from 'tap'
import type { Plan } from '../../../src/core/plan.js'
import { Account } from '../../../src/features/limits/account.js'
import { addLimit, limitHeaders } from '../../../src/features/limits/headers.js'

t.test('the reset of a window is in whole seconds, and in milliseconds within the last one', async t => {
  const last = { of: Number.NaN, text: '' }
  const names = { limit: 'limit', remaining: 'left', reset: 'reset', form: 'duration' as const, parts: [], last }
  const account = new Account('key:a requests', 'requests', { start: 0, end: 62_000, label: 'x' }, 5, true)
  for (const [now, reset] of [
    [0, '1m2s'],
    [500, '1m2s'],
    [60_999, '2s'],
    [61_000, '1s'],
    [61_001, '999ms'],
    [61_001, '999ms'],
    [61_999, '1ms'],
    [62_000, '0s'],
    [0, '1m2s'],
  ] as const) {
    const headers: string[] = []
    addLimit(headers, names, account, now)
    t.same(headers, ['limit', '5', 'left', '5', 'reset', reset])
  }
})

const names = (of: string) => ({ limit: `${of}-Limit`, remaining: `${of}-Left`, reset: `${of}-Reset` })
const rateLimits = {
  ...{ reset: 'time', headers: ['*'], requests: names('requests'), tokens: names('tokens') },
  ...{ input_tokens: names('input'), output_tokens: names('output') },
}
const family = limitHeaders({ routes: [{ errors: 'anthropic', protocol: { rateLimits } }] } as unknown as Plan)
const { tokens } = family.get('anthropic' as never) ?? {}
const OWN = ['tokens-limit', '500', 'tokens-left', '500', 'tokens-reset', '1970-01-01T00:01:00Z']

for (const [what, theirs, after] of [
  [
    'leaves less stays as it is',
    ['tokens-limit', '900', 'tokens-left', '499', 'input-left', '800', 'tokens-reset', 'x'],
    ['tokens-limit', '900', 'tokens-left', '499', 'input-left', '800', 'tokens-reset', 'x'],
  ],
  [
    'leaves as much goes',
    ['a', 'b', 'tokens-limit', '900', 'tokens-left', '500', 'tokens-reset', 'x'],
    ['a', 'b', ...OWN],
  ],
  ['does not say what is left goes', ['tokens-limit', '900', 'tokens-reset', 'x'], OWN],
  ['is not a number goes', ['tokens-left', '', 'tokens-limit', '900'], OWN],
  [
    'has parts goes with those that leave more',
    ['input-limit', '900', 'input-left', '800', 'input-reset', 'x', 'output-limit', '90', 'output-left', '80'],
    ['output-limit', '90', 'output-left', '80', ...OWN],
  ],
] as const)
  t.test(`what an upstream says of a limit and ${what}`, async t => {
    const span = { start: 0, end: 60_000, label: 'x' }
    const headers: string[] = [...theirs]
    if (tokens !== undefined) addLimit(headers, tokens, new Account('key:a tokens', 'tokens', span, 500, true), 0)
    t.same(headers, after)
  })
