import t from 'tap'
import { memberLabel } from '../../../src/features/metrics/member-label.js'
import { familiesOf, LabelBounds } from '../../../src/features/metrics/series.js'
import type { MetricSpec } from '../../../src/features/metrics/spec.js'

const spec = (...labels: readonly string[]): MetricSpec => ({ name: 'a_total', kind: 'counter', labels, help: 'A.' })
const sumOf = (series: Iterable<{ readonly numbers: Float64Array }>): number =>
  [...series].reduce((sum, { numbers }) => sum + (numbers[0] ?? 0), 0)

t.test('more values than a label may have are counted together, as other', async t => {
  const bounds: Readonly<Record<string, number>> = {
    upstream: 500,
    model: 2000,
    fallback: 200,
    group: 2000,
    key: 20_000,
    name: 20_000,
  }
  for (const [label, most] of Object.entries(bounds)) {
    const { counted } = familiesOf({ counted: spec(label) }, new LabelBounds())
    for (let n = 0; n < most + 10; n++) counted.of(`value ${n}`).add(1)
    const series = [...counted.series]
    t.equal(series.length, most + 1, label)
    t.equal(series.find(({ labels }) => labels[0] === 'other')?.numbers[0], 10, label)
    t.equal(sumOf(series), most + 10, 'nothing is lost')
    counted.of('value 3').add(1)
    t.equal(series.find(({ labels }) => labels[0] === 'value 3')?.numbers[0], 2, 'known values stay')
  }
})

t.test('a label has the same bound in all metrics together', async t => {
  const both = familiesOf({ one: spec('upstream'), two: spec('upstream') }, new LabelBounds())
  for (let n = 0; n < 500; n++) both.one.of(`value ${n}`).add(1)
  both.two.of('a late one').add(1)
  both.two.of('value 3').add(1)
  t.same(Array.from(both.two.series, ({ labels }) => labels[0]).toSorted(), ['other', 'value 3'])
})

t.test('a metric has at most 20,000 series: further ones are counted together', async t => {
  const { counted } = familiesOf({ counted: spec('upstream', 'state') }, new LabelBounds())
  for (let upstream = 0; upstream < 210; upstream++)
    for (let state = 0; state < 100; state++) counted.of(`up ${upstream}`, `state ${state}`).add(1)
  const series = [...counted.series]
  t.equal(series.length, 20_001)
  t.same(series.at(-1)?.labels, ['other', 'other'])
  t.equal(sumOf(series), 21_000)
})

t.test('long values are cut', async t => {
  t.equal(new LabelBounds().admit('model', 'm'.repeat(5000)).length, 200)
})

t.test('members that translation dropped are called as in the table of the protocol', async t => {
  const labels: Readonly<Record<string, string>> = {
    seed: 'seed',
    'messages[12].name': 'messages[].name',
    'messages[12].content[3].cache_control': 'messages[].content[].cache_control',
    'tools[0].function.strict': 'tools[].function.strict',
    'messages[0].what_a_client_wrote': 'messages',
    what_a_client_wrote: 'other',
    'what.a[1].client': 'other',
    __proto__: 'other',
    constructor: 'other',
  }
  for (const [name, label] of Object.entries(labels)) t.equal(memberLabel('chat', name), label, name)
  t.equal(memberLabel('nothing', 'seed'), 'other')
})

t.test('figures that are not summed are not counted together either', async t => {
  const ratio: MetricSpec = { name: 'a_ratio', kind: 'gauge', labels: ['upstream'], help: 'A.', merge: 'max' }
  const { shares } = familiesOf({ shares: ratio }, new LabelBounds())
  for (let n = 0; n < 510; n++) shares.of(`value ${n}`).add(0.3)
  const series = [...shares.series]
  t.equal(series.length, 500)
  t.notOk(series.some(({ labels }) => labels.includes('other')))
  // What is called so is something of its own.
  const { named } = familiesOf({ named: ratio }, new LabelBounds())
  named.of('other').add(0.3)
  t.equal([...named.series].length, 1)
})
