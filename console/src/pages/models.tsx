import { count, milliseconds, NONE, share, text, usd } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { List, PlanAnswer, Row, Series, Upstream } from '../types.js'
import { Card, Empty, Failure, type Level, State } from '../ui/parts.js'
import { stateOf } from '../ui/upstream-state.js'
import { UseOverTime } from './use-over-time.js'

const EVERY_MS = 3000
type Model = PlanAnswer['models'][number]

/** Models of the plan: where their requests go, and how they fare. */
export function Models() {
  const plan = useFetched<PlanAnswer>('/admin/plan', 10_000)
  const series = useFetched<Series>('/admin/series?range=15m', EVERY_MS)
  const upstreams = useFetched<List<Upstream>>('/admin/upstreams?limit=200', EVERY_MS)
  const rows = new Map((series.data.value?.totals.models ?? []).map(row => [row.name, row]))
  const known = new Map((upstreams.data.value?.data ?? []).map(one => [one.name, one]))
  const all = plan.data.value?.models ?? []
  const name = parameter('name')
  const one = all.find(model => model.name === name)
  return (
    <>
      <Failure error={plan.error.value ?? upstreams.error.value} again={plan.again} />
      {one === undefined ? null : <One key={one.name} model={one} known={known} />}
      <Card title="Models" aside={<span class="mut">The last 15 minutes</span>}>
        {all.length === 0 && plan.data.value !== undefined ? (
          <Empty>
            The configuration has no models. <a href="/plan?view=file">Add one to the file</a>, as in{' '}
            <code>models: {'{ fast: my-upstream }'}</code>.
          </Empty>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th class="hide">Goes to</th>
                <th class="n">Requests</th>
                <th class="n hide">Failed</th>
                <th class="n hide">First p50</th>
                <th class="n hide">First p95</th>
                <th class="n hide">Tokens</th>
                <th class="n hide">USD</th>
              </tr>
            </thead>
            <tbody>
              {all.map(model => (
                <Line key={model.name} model={model} row={rows.get(model.name)} known={known} />
              ))}
            </tbody>
          </table>
        )}
      </Card>
    </>
  )
}

type Known = ReadonlyMap<string, Upstream>

/** What clients of a model meet: it is as good as the first of its targets that serves. */
function modelState({ groups }: Model, known: Known): readonly [Level, string] {
  const all = groups.flat().flatMap(({ upstream }) => known.get(upstream) ?? [])
  const on = all.filter(({ off }) => off === undefined)
  if (on.length === 0) return ['idle', 'Off']
  const cut = on.filter(({ health }) => health?.state === 'open')
  if (cut.length === on.length) return ['bad', 'Cut off']
  return cut.length === 0 ? ['ok', 'Served'] : ['warn', `${on.length - cut.length} of ${on.length} serve`]
}

interface LineProps {
  readonly model: Model
  readonly row: Row | undefined
  readonly known: Known
}

function Line({ model, row, known }: LineProps) {
  const [level, word] = modelState(model, known)
  return (
    <tr>
      <td>
        <a href={`/models?name=${encodeURIComponent(model.name)}`}>
          <strong>{model.name}</strong>
        </a>
      </td>
      <td>
        <State level={level}>{word}</State>
      </td>
      <td class="hide">{wayOf(model)}</td>
      <td class="n">{count(row?.requests ?? 0)}</td>
      <td class="n hide">{row === undefined ? NONE : text(share(row.failed, row.requests))}</td>
      <td class="n hide">{text(milliseconds(row?.times[0]))}</td>
      <td class="n hide">{text(milliseconds(row?.times[1]))}</td>
      <td class="n hide">{row === undefined ? NONE : count(row.tokens)}</td>
      <td class="n hide">{row === undefined ? NONE : usd(row.micro / 1e6)}</td>
    </tr>
  )
}

function wayOf({ groups }: Model): string {
  return groups
    .map(group => [...new Set(group.map(({ upstream }) => upstream))].join(' and '))
    .slice(0, 4)
    .join(', then ')
}

function One({ model, known }: { readonly model: Model; readonly known: Known }) {
  const { name, groups, strategy } = model
  const [level, word] = modelState(model, known)
  const query = `model=${encodeURIComponent(name)}`
  return (
    <div class="grid above">
      <Card
        title={name}
        class="w12"
        aside={
          <span class="group">
            <a href={`/play?${query}`}>Try it</a>
            <a href={`/requests?${query}`}>Its requests</a>
            <a href={`/plan?focus=${encodeURIComponent(`model:${name}`)}`}>In the plan</a>
          </span>
        }
      >
        <p>
          <State level={level}>{word}</State> {strategy}
        </p>
        <p class="mut">An upstream with a later turn is asked only when those before it have failed.</p>
        <table>
          <thead>
            <tr>
              <th>Turn</th>
              <th>Upstream</th>
              <th>State</th>
              <th class="hide">Model there</th>
              <th class="n">Share</th>
            </tr>
          </thead>
          <tbody>
            {groups.flatMap((group, at) =>
              group.map(target => (
                <Target key={`${at}:${target.upstream}:${target.as}`} turn={at} target={target} known={known} />
              )),
            )}
          </tbody>
        </table>
      </Card>
      <UseOverTime scope="model" name={name} />
    </div>
  )
}

interface TargetProps {
  readonly turn: number
  readonly target: Model['groups'][number][number]
  readonly known: Known
}

function Target({ turn, target: { upstream, as, share: part, off }, known }: TargetProps) {
  const one = known.get(upstream)
  const [level, word] = off !== undefined || one === undefined ? (['idle', 'Off'] as const) : stateOf(one)
  return (
    <tr>
      <td>{turn + 1}</td>
      <td>
        <a href={`/upstreams?name=${encodeURIComponent(upstream)}`}>{upstream}</a>
      </td>
      <td>
        <State level={level === 'idle' && off === undefined && one?.off === undefined ? 'ok' : level}>
          {word === 'No traffic' ? 'Ready' : word}
        </State>
      </td>
      <td class="hide">
        <code>{as ?? NONE}</code>
      </td>
      <td class="n">{part === undefined ? 'all' : text([String(Number(part.toFixed(1))), '%'])}</td>
    </tr>
  )
}
