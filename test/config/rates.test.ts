import t from 'tap'
import { parseBudget, parseRate } from '../../src/config/rates.js'
import { boundText, priceText, usdText } from '../../src/core/bound-text.js'
import { fc } from '../helpers/property.js'

const RATES: readonly (readonly [text: string, amount: number, window: string, shown: string])[] = [
  ['600/min', 600, 'minute', '600/min'],
  ['10/s', 10, 'second', '10/s'],
  ['10/sec', 10, 'second', '10/s'],
  ['10/second', 10, 'second', '10/s'],
  ['5 / minute', 5, 'minute', '5/min'],
  ['7/h', 7, 'hour', '7/hour'],
  ['100k/hour', 100_000, 'hour', '100k/hour'],
  ['2M/d', 2_000_000, 'day', '2M/day'],
  ['1.5M/day', 1_500_000, 'day', '1500k/day'],
  ['0.5k/month', 500, 'month', '500/month'],
  ['5M/total', 5_000_000, 'total', '5M/total'],
  ['9007199254740991/total', Number.MAX_SAFE_INTEGER, 'total', '9007199254740991/total'],
]

for (const [text, amount, window, shown] of RATES) {
  t.test(`the rate ${text} is ${amount} in a window`, async t => {
    const parsed = parseRate(text, 'tokens')
    t.same(parsed, { bound: { unit: 'tokens', amount, window } })
    if ('bound' in parsed) t.equal(boundText(parsed.bound), shown)
  })
}

t.test('an amount that cannot be counted is not suggested', async t => {
  for (const parsed of [parseRate('99999999999999999/min', 'requests'), parseBudget('99999999999999999 USD/day')])
    t.match(parsed, { fault: /more than can be counted/, meant: undefined })
})

const BUDGETS: readonly (readonly [text: string, micro: number, window: string, shown: string])[] = [
  ['500 USD/month', 500_000_000, 'month', '500 USD/month'],
  ['0.07 USD/day', 70_000, 'day', '0.07 USD/day'],
  ['0.5USD / h', 500_000, 'hour', '0.50 USD/hour'],
  ['0.000001 USD', 1, 'total', '0.000001 USD'],
  ['1.15 USD/total', 1_150_000, 'total', '1.15 USD'],
  ['9007199254 USD', 9_007_199_254_000_000, 'total', '9007199254 USD'],
]

for (const [text, amount, window, shown] of BUDGETS) {
  t.test(`the budget ${text} is ${amount} millionths of a USD`, async t => {
    const parsed = parseBudget(text)
    t.same(parsed, { bound: { unit: 'budget', amount, window } })
    if ('bound' in parsed) t.equal(boundText(parsed.bound), shown)
  })
}

const WRONG_RATES: readonly (readonly [text: string, meant: string | undefined])[] = [
  ['600', '600/min'],
  ['600/m', '600/min'],
  ['600 per minute', '600/minute'],
  ['100K/min', '100k/min'],
  ['2m/day', '2M/day'],
  ['1,000/30d', '1000/month'],
  ['1k/fortnight', undefined],
  ['/min', undefined],
  ['-1/min', undefined],
  ['0/min', undefined],
  ['1.5/min', undefined],
  ['9007199254740992/total', undefined],
  ['5/constructor', undefined],
]

for (const [text, meant] of WRONG_RATES) {
  t.test(`the rate ${text} is refused`, async t => {
    const parsed = parseRate(text, 'requests')
    t.ok('fault' in parsed)
    if ('fault' in parsed) t.equal(parsed.meant, meant)
  })
}

const WRONG_BUDGETS: readonly (readonly [text: string, meant: string | undefined])[] = [
  ['$5/day', '5 USD/day'],
  ['5 usd per month', '5 USD/month'],
  ['5/mo', '5 USD/month'],
  ['100', '100 USD'],
  ['5 EUR/day', undefined],
  ['0 USD', undefined],
  ['0.0000001 USD', undefined],
  ['99999999999 USD', undefined],
]

for (const [text, meant] of WRONG_BUDGETS) {
  t.test(`the budget ${text} is refused`, async t => {
    const parsed = parseBudget(text)
    t.ok('fault' in parsed)
    if ('fault' in parsed) t.equal(parsed.meant, meant)
  })
}

t.test('amounts of USD and prices are shown as files have them', async t => {
  t.equal(usdText(0), '0 USD')
  t.equal(usdText(4200), '0.0042 USD')
  t.equal(priceText({ input: 2_000_000, image: 40_000_000_000 }), 'input 2, image 0.04')
  t.equal(priceText({}), 'free')
})

t.test('amounts of USD have the digits that prices have', async () => {
  const amount = fc.oneof(
    fc.maxSafeNat(),
    fc.nat(2e6),
    fc.nat(9e9).map(thousands => thousands * 1000),
  )
  fc.assert(fc.property(amount, micro => `input ${usdText(micro)}` === `${priceText({ input: micro })} USD`))
})
