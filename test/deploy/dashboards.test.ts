import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { METRICS } from '../../src/features/metrics/list.js'
import { PROMTOOL, withoutPromtool } from '../helpers/prometheus.js'

/** The files of deploy/, and the generator that they are made by. */

const DEPLOY = join(packageRoot(), 'deploy')
const ALERTS = join(DEPLOY, 'prometheus/alerts.rules.yaml')

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit: string; readonly color: { readonly mode: string } } }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

interface Dashboard {
  readonly id: null
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly schemaVersion: number
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
  readonly panels: readonly Panel[]
}

const files = readdirSync(join(DEPLOY, 'grafana'))
const dashboards = files.map(file => JSON.parse(readFileSync(join(DEPLOY, 'grafana', file), 'utf8')) as Dashboard)

/** Units of Grafana that the dashboards use. */
const UNITS = ['reqps', 'ops', 's', 'short', 'none', 'percentunit', 'bytes', 'Bps', 'currencyUSD', 'suffix: tokens/s']
/** Colours are told apart by lightness, or are of a palette for all kinds of colour vision. */
const MODES = ['fixed', 'shades', 'thresholds']
const PALETTE = ['#0072B2', '#E69F00', '#009E73', '#D55E00', '#56B4E9', '#CC79A7', '#F0E442', '#999999']

t.test('dashboards have what Grafana asks for, and each panel says what it shows', async t => {
  t.same(files.toSorted(), ['keys-and-cost.json', 'models.json', 'overview.json', 'tasks.json', 'upstream-health.json'])
  t.equal(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length)
  for (const { id, uid, schemaVersion, templating, panels, description } of dashboards) {
    t.equal(id, null)
    t.match(uid, /^[a-z-]{1,40}$/)
    t.ok(schemaVersion >= 39 && description.length > 20)
    t.match(templating.list[0], { name: 'datasource', type: 'datasource', query: 'prometheus' })
    t.equal(new Set(panels.map(panel => panel.id)).size, panels.length, 'no two panels have an id')
    t.equal(new Set(panels.map(({ title }) => title)).size, panels.length, 'no two panels have a title')
    for (const panel of panels.filter(({ type }) => type !== 'row')) checkPanel(panel, templating.list)
    t.same(overlaps(panels), [])
  }

  function checkPanel(panel: Panel, variables: Dashboard['templating']['list']): void {
    const { title, description = '', datasource, fieldConfig, targets = [] } = panel
    t.match(description, /^[A-Z0-9].{10,}\.$/, title)
    t.equal(datasource?.uid, '$datasource', title)
    t.ok(UNITS.includes(fieldConfig?.defaults.unit ?? ''), `${title}: ${fieldConfig?.defaults.unit}`)
    t.ok(MODES.includes(fieldConfig?.defaults.color.mode ?? ''), title)
    for (const [colour] of JSON.stringify(fieldConfig).matchAll(/#[0-9A-F]{6}/g)) t.ok(PALETTE.includes(colour), colour)
    t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length)
    t.ok(targets.length > 0, title)
    const known = [...variables.map(({ name }) => name), '__rate_interval']
    for (const [, name = ''] of JSON.stringify(targets).matchAll(/\$(\w+)/g))
      t.ok(known.includes(name), `${title}: ${name}`)
  }
})

function overlaps(panels: readonly Panel[]): readonly string[] {
  const taken = new Map<string, string>()
  const problems: string[] = []
  for (const {
    title,
    gridPos: { x, y, w, h },
  } of panels) {
    if (x + w > 24) problems.push(`${title} is too wide`)
    for (let row = y; row < y + h; row++)
      for (let column = x; column < x + w; column++) {
        const other = taken.get(`${row} ${column}`)
        if (other !== undefined) problems.push(`${title} is upon ${other}`)
        taken.set(`${row} ${column}`, title)
      }
  }
  return problems
}

t.test('every metric is in a dashboard or a rule', async t => {
  const rules = ['alerts', 'recording'].map(name => readFileSync(join(DEPLOY, `prometheus/${name}.rules.yaml`), 'utf8'))
  const text = JSON.stringify(dashboards) + rules.join('')
  t.same(
    METRICS.map(({ name }) => name).filter(name => !text.includes(name)),
    [],
  )
})

interface Generator {
  monitoringArtefacts(metrics: readonly object[]): readonly (readonly [path: string, make: () => string])[]
}
interface Checker {
  catalogueOf(metrics: readonly object[]): unknown
  checkQuery(query: string, catalogue: unknown, where: string): ReadonlySet<string>
}
const script = (name: string): Promise<unknown> => import(join(packageRoot(), 'scripts/monitoring', name))

t.test('the generator makes the files that are there, and fails without a metric or a label that they use', async t => {
  const { monitoringArtefacts } = (await script('artefacts.mjs')) as Generator
  for (const [path, make] of monitoringArtefacts(METRICS))
    t.equal(readFileSync(join(packageRoot(), path), 'utf8'), make(), path)
  const makeAll = (metrics: readonly object[]) => (): void => {
    for (const [, make] of monitoringArtefacts(metrics)) make()
  }
  for (const metric of METRICS) {
    t.throws(makeAll(METRICS.filter(one => one !== metric)), { message: /there is no metric/ }, metric.name)
  }
  const renamed = METRICS.map(one => ({
    ...one,
    labels: one.labels.map(label => (label === 'outcome' ? 'end' : label)),
  }))
  t.throws(makeAll(renamed), { message: /has no label outcome/ })
})

t.test('queries that are wrong are refused', async t => {
  const { catalogueOf, checkQuery } = (await script('promql.mjs')) as Checker
  const catalogue = catalogueOf(METRICS)
  const labels = (query: string): readonly string[] => [...checkQuery(query, catalogue, 'a test')].toSorted()
  t.same(labels('sum by (model, outcome) (rate(gateway_requests_total{job=~"a|b"}[5m]))'), ['model', 'outcome'])
  t.same(labels('sum(rate(gateway_requests_total[5m]))'), [])
  t.same(labels('gateway_store_up == 0'), ['instance', 'job', 'type'])
  const wrong: Readonly<Record<string, RegExp>> = {
    'rate(gateway_request_total[5m])': /no metric or function gateway_request_total/,
    'rat(gateway_requests_total[5m])': /no metric or function rat/,
    'rate(gateway_requests_total{kind="x"}[5m])': /has no label kind/,
    'sum by (key) (rate(gateway_requests_total[5m]))': /has no label key for by/,
    'gateway_requests_total > 0': /is read by rate/,
    'rate(gateway_store_up[5m])': /is a gauge/,
    'rate(http_server_request_duration_seconds[5m])': /no metric or function/,
    'sum by (le) (rate(http_server_request_duration_seconds_sum[5m]))': /has no label le/,
    'label_values(gateway_requests_total, upstream)': /has no label upstream/,
    '{job="x"}': /without a metric/,
    'sum(1)': /reads no metric/,
    'rate(gateway_requests_total[5m]) # all': /cannot be read/,
  }
  for (const [query, message] of Object.entries(wrong)) t.throws(() => labels(query), { message }, query)
})

t.test('promtool finds the rules right', { skip: withoutPromtool }, async t => {
  const promtool = (...args: readonly string[]): string => execFileSync(PROMTOOL ?? '', args, { encoding: 'utf8' })
  t.match(promtool('check', 'rules', ALERTS, join(DEPLOY, 'prometheus/recording.rules.yaml')), /SUCCESS/)
  const tests = join(packageRoot(), 'test/deploy/rules.test.yaml')
  t.match(promtool('test', 'rules', tests), /SUCCESS/)
  const tested = readFileSync(tests, 'utf8')
  for (const [, name = ''] of readFileSync(ALERTS, 'utf8').matchAll(/alert: (\w+)/g))
    t.match(tested, name, `${name} has a test`)
  for (const [, name = ''] of readFileSync(join(DEPLOY, 'prometheus/recording.rules.yaml'), 'utf8').matchAll(
    /record: (\S+)/g,
  ))
    t.ok(tested.includes(`expr: ${name}`), `${name} has a test`)
})
