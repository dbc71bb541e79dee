import { useMemo } from 'preact/hooks'
import { clock, count, counted, milliseconds, NONE, rate, share, text, usd } from '../format.js'
import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import { stats } from '../state/live.js'
import type { List, Row, Series, Stats, Upstream } from '../types.js'
import { Icon } from '../ui/icon.js'
import { Card, Empty, Failure, Segments, State, Value } from '../ui/parts.js'
import { Plot, Spark } from '../ui/plot.js'
import { RANGES, type Range } from '../ui/ranges.js'
import { stateOf } from '../ui/upstream-state.js'
import { NearBound } from './near-bound.js'
import { splitBy, Traffic } from './traffic.js'

/** How often figures are read again, by range, milliseconds. */
const EVERY_MS: Readonly<Record<Range, number>> = {
  '15m': 2000,
  '1h': 10_000,
  '6h': 30_000,
  '24h': 60_000,
  '7d': 60_000,
  '30d': 60_000,
}

function rangeOf(): Range {
  const given = parameter('range')
  return RANGES.find(range => range === given) ?? '15m'
}

export function Overview() {
  const range = rangeOf()
  const by = splitBy()
  const { data, error, again } = useFetched<Series>(
    `/admin/series?range=${range}${by === 'all' ? '' : `&by=${by}`}`,
    EVERY_MS[range],
  )
  const series = data.value
  return (
    <>
      <Health known={stats.value} series={series} range={range} />
      <div class="bar-of-controls">
        <Segments label="Range" options={RANGES} value={range} onChange={next => setParameters({ range: next })} />
        <span class="mut">
          {series === undefined
            ? ''
            : `One point ${stepText(series.step)}, of all processes; times by this browser's clock.`}
        </span>
      </div>
      <Failure error={error.value} again={again} />
      {series === undefined ? <div class="skeleton" /> : <Figures series={series} known={stats.value} />}
    </>
  )
}

function stepText(seconds: number): string {
  if (seconds < 60) return `every ${seconds} s`
  return seconds < 3600 ? `every ${seconds / 60} min` : `every ${seconds / 3600} h`
}

function Health({
  known,
  series,
  range,
}: {
  readonly known: Stats | undefined
  readonly series: Series | undefined
  readonly range: string
}) {
  const resting = known?.resting ?? []
  const cut = resting.filter(({ state }) => state === 'open')
  const totals = series?.totals
  const failed = totals === undefined || totals.requests === 0 ? 0 : totals.failed / totals.requests
  const level = cut.length > 0 || failed >= 0.05 ? 'bad' : resting.length > 0 || failed >= 0.01 ? 'warn' : 'ok'
  const word = { bad: 'Degraded.', warn: 'Watch.', ok: 'All is well.' }[level]
  const first = cut[0]
  const sentence =
    first !== undefined
      ? `${first.upstream} is cut off${first.until === undefined ? '' : `, tried again at ${clock(first.until)}`}${cut.length > 1 ? `, and ${cut.length - 1} more` : ''}.`
      : resting[0] !== undefined
        ? `${resting[0].upstream} is being tried again.`
        : level === 'ok'
          ? 'No upstream is cut off.'
          : ''
  const rest =
    totals === undefined || totals.requests === 0
      ? `No requests in the last ${range}.`
      : `${text(share(totals.failed, totals.requests))} of ${counted(totals.requests, 'request')} failed in the last ${range}.`
  return (
    <section class={`say ${level}`} aria-label="Health">
      <Icon name={level} />
      <span>
        <strong>{word}</strong> {sentence} {rest}
      </span>
      {totals !== undefined && totals.failed > 0 ? (
        <a href="/requests?status=5xx">
          See {totals.failed === 1 ? 'the failure' : `the ${counted(totals.failed, 'failure')}`}
        </a>
      ) : null}
    </section>
  )
}

function Figures({ series, known }: { readonly series: Series; readonly known: Stats | undefined }) {
  const { totals } = series
  const first = useMemo(
    () => [
      { label: 'p50', values: series.first_p50, colour: '--c1' },
      { label: 'p95', values: series.first_p95, colour: '--c2', dash: [6, 3] },
      { label: 'p99', values: series.first_p99, colour: '--c4', dash: [2, 3] },
    ],
    [series],
  )
  const begun = series.requests.findIndex(value => value !== null)
  const gapUntil = begun > 0 ? series.t[begun] : undefined
  const [perTokens, tokenUnit] = rate((known?.input_tokens ?? 0) + (known?.output_tokens ?? 0))
  return (
    <>
      <section class="tiles" aria-label="Key figures">
        <a class="tile" href="/requests">
          <span class="k">Requests now</span>
          <span class="v">
            <Value figure={rate(known?.requests ?? 0)} />
          </span>
          <span class="d">
            {count(known?.in_flight ?? 0)} in flight, {counted(known?.streams ?? 0, 'stream')}
          </span>
          <Spark values={series.requests} />
        </a>
        <a class="tile" href="/requests?status=5xx">
          <span class="k">Failed</span>
          <span class="v">
            <Value figure={share(totals.failed, totals.requests)} />
          </span>
          <span class={`d ${totals.failed > 0 ? 'bad' : ''}`}>{counted(totals.failed, 'request')}</span>
          <Spark values={series.failed} />
        </a>
        <div class="tile">
          <span class="k">First token p95</span>
          <span class="v">
            <Value figure={milliseconds(totals.first[1])} />
          </span>
          <span class="d">
            p50 {text(milliseconds(totals.first[0]))}, p99 {text(milliseconds(totals.first[2]))}
          </span>
          <Spark values={series.first_p95} />
        </div>
        <div class="tile">
          <span class="k">Own time p95</span>
          <span class="v">
            <Value figure={milliseconds(totals.own[1])} />
          </span>
          <span class="d">
            p50 {text(milliseconds(totals.own[0]))}, p99 {text(milliseconds(totals.own[2]))}
          </span>
          <Spark values={series.own_p95} />
        </div>
        <div class="tile">
          <span class="k">Tokens now</span>
          <span class="v">
            <Value figure={[perTokens, tokenUnit]} />
          </span>
          <span class="d">
            in {count(totals.input)}, out {count(totals.output)}
          </span>
          <Spark values={series.tokens} />
        </div>
        <a class="tile" href="/keys">
          <span class="k">Cost in {series.range}</span>
          <span class="v">
            {usd(totals.micro / 1e6)}
            <small>USD</small>
          </span>
          <span class="d">{usd(((known?.micro_usd ?? 0) * 3600) / 1e6)} USD/h now</span>
          <Spark values={series.micro_usd} />
        </a>
      </section>
      <div class="grid">
        {totals.requests === 0 ? (
          <Card title="Requests per second" class="w6">
            <Nothing />
          </Card>
        ) : (
          <Traffic series={series} gapUntil={gapUntil} />
        )}
        <Card title="Time to first token" class="w6" aside={<span class="mut">logarithmic</span>}>
          {totals.first[0] === null ? (
            <Nothing />
          ) : (
            <Plot
              title="Time to first token"
              summary={`p50 ${text(milliseconds(totals.first[0]))}, p95 ${text(milliseconds(totals.first[1]))}, p99 ${text(milliseconds(totals.first[2]))} in ${series.range}.`}
              times={series.t}
              lines={first}
              unit={value => text(milliseconds(value))}
              height={310}
              isLog={true}
              gapUntil={gapUntil}
            />
          )}
        </Card>
        <UpstreamTable rows={totals.upstreams} />
        <NearBound />
        <Rows title="Models" rows={totals.models} link={name => `/models?name=${encodeURIComponent(name)}`} />
        <Rows title="Keys" rows={totals.keys} link={name => `/keys?name=${encodeURIComponent(name)}`} />
        <Causes errors={totals.errors} />
      </div>
    </>
  )
}

function Nothing() {
  return (
    <Empty>
      Nothing has happened yet. <a href="/play">Try a model</a>, or send a request to the gateway.
    </Empty>
  )
}

const TIMES_TITLE = { title: 'Median time to the first token' }

function UpstreamTable({ rows }: { readonly rows: readonly Row[] }) {
  const { data } = useFetched<List<Upstream>>('/admin/upstreams', 5000)
  const known = new Map(rows.map(row => [row.name, row]))
  const all = (data.value?.data ?? []).filter(({ off }) => off === undefined)
  const resting = (one: Upstream): number => (one.health?.state === 'closed' ? 0 : 1)
  const sorted = [...all].sort(
    (a, b) => resting(b) - resting(a) || (known.get(b.name)?.requests ?? 0) - (known.get(a.name)?.requests ?? 0),
  )
  return (
    <Card title="Upstreams" class="w7" aside={<a href="/upstreams">All upstreams</a>}>
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th class="n">Failed</th>
            <th class="n hide">First token</th>
            <th class="n">Attempts</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, 8).map(one => {
            const row = known.get(one.name)
            const [level, word] = stateOf(one, row)
            return (
              <tr key={one.name}>
                <td>
                  <a href={`/upstreams?name=${encodeURIComponent(one.name)}`}>
                    <strong>{one.name}</strong>
                  </a>
                </td>
                <td>
                  <State level={level}>{word}</State>
                </td>
                <td class="n">{row === undefined ? NONE : text(share(row.failed, row.requests))}</td>
                <td class="n hide">{text(milliseconds(row?.times[0]))}</td>
                <td class="n">{row === undefined ? '0' : count(row.requests)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Card>
  )
}

interface RowsProps {
  readonly title: string
  readonly rows: readonly Row[]
  readonly link: (name: string) => string
}

function Rows({ title, rows, link }: RowsProps) {
  return (
    <Card title={title} class="w6">
      {rows.length === 0 ? (
        <Empty>None was used in this time.</Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th class="n">Requests</th>
              <th class="n">Failed</th>
              <th class="n hide" {...TIMES_TITLE}>
                First token
              </th>
              <th class="n hide">Tokens</th>
              <th class="n">USD</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, 10).map(row => (
              <tr key={row.name}>
                <td>
                  <a href={link(row.name)}>{row.name}</a>
                </td>
                <td class="n">{count(row.requests)}</td>
                <td class="n">{text(share(row.failed, row.requests))}</td>
                <td class="n hide">{text(milliseconds(row.times[0]))}</td>
                <td class="n hide">{count(row.tokens)}</td>
                <td class="n">{usd(row.micro / 1e6)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}

function Causes({ errors }: { readonly errors: Readonly<Record<string, number>> }) {
  const sorted = Object.entries(errors).sort(([, one], [, other]) => other - one)
  if (sorted.length === 0) return null
  return (
    <Card
      title="Errors by cause"
      class="w12"
      aside={
        <a href="/docs/errors.html" target="_blank" rel="noopener">
          What they mean
        </a>
      }
    >
      <table>
        <thead>
          <tr>
            <th>Code</th>
            <th class="n">Requests</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map(([code, number]) => (
            <tr key={code}>
              <td>
                <code>{code}</code>
              </td>
              <td class="n">{count(number)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}
