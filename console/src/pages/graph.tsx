import { short } from '../format.js'
import { parameter, setParameters } from '../router.js'
import { stats } from '../state/live.js'
import type { PlanAnswer } from '../types.js'

const ROW = 40
const NODE = { width: 232, height: 30 }
const COLUMNS = [0, 384, 768]
const WIDTH = 1000
/** Nodes of a column; the rest is named by its number. */
const MAX_NAMES = 40

interface Node {
  readonly id: string
  readonly name: string
  readonly sub: string
  readonly column: number
  readonly isOff: boolean
}

interface Edge {
  readonly from: string
  readonly to: string
  /** It is asked only when an earlier one fails. */
  readonly isLater: boolean
  /** Which part of the requests it gets, where that is not all; percent. */
  readonly share?: string
}

/** A glob of a key, with `*` for anything. */
function allows(globs: readonly string[], name: string): boolean {
  return globs.some(glob => {
    if (glob === '*' || glob === name) return true
    const parts = glob.split(/[*?]/)
    return parts.length > 1 && name.startsWith(parts[0] ?? '') && name.endsWith(parts.at(-1) ?? '')
  })
}

function nodesOf({ keys, models, upstreams }: PlanAnswer): readonly Node[] {
  const isOn = new Set(upstreams.filter(({ off }) => off === undefined).map(({ name }) => name))
  const serves = (groups: PlanAnswer['models'][number]['groups']): boolean =>
    groups.some(group => group.some(({ upstream }) => isOn.has(upstream)))
  const column = (nodes: readonly Node[]): readonly Node[] =>
    [...nodes].sort((one, other) => Number(one.isOff) - Number(other.isOff)).slice(0, MAX_NAMES)
  return [
    ...column(
      keys.map(({ name, off, group }) => ({
        id: `key:${name}`,
        name,
        sub: group ?? '',
        column: 0,
        isOff: off !== undefined,
      })),
    ),
    ...column(
      models.map(({ name, groups, strategy }) => ({
        id: `model:${name}`,
        name,
        sub: serves(groups) ? (strategy ?? '') : 'off',
        column: 1,
        isOff: !serves(groups),
      })),
    ),
    ...column(
      upstreams.map(({ name, kind, off }) => ({
        id: `upstream:${name}`,
        name,
        sub: off === undefined ? (kind ?? '') : 'off',
        column: 2,
        isOff: off !== undefined,
      })),
    ),
  ]
}

function edgesOf({ keys, models }: PlanAnswer): readonly Edge[] {
  return models.flatMap(({ name, groups }) => [
    ...keys
      .filter(key => allows(key.models, name))
      .map(key => ({ from: `key:${key.name}`, to: `model:${name}`, isLater: false })),
    ...groups.flatMap((group, at) =>
      group.map(({ upstream, share: part }) => ({
        ...{ from: `model:${name}`, to: `upstream:${upstream}`, isLater: at > 0 },
        ...(part === undefined || group.length === 1 ? {} : { share: `${Number(part.toFixed(1))} %` }),
      })),
    ),
  ])
}

/** Upstreams in the order of the models that lead to them, so that few lines cross. */
function untangled(nodes: readonly Node[], edges: readonly Edge[]): readonly Node[] {
  const rows = new Map(nodes.filter(({ column }) => column === 1).map(({ id }, row) => [id, row]))
  const middle = ({ id }: Node): number => {
    const from = edges.flatMap(edge => (edge.to === id ? (rows.get(edge.from) ?? []) : []))
    return from.length === 0 ? rows.size : from.reduce((sum, row) => sum + row, 0) / from.length
  }
  const last = nodes.filter(({ column }) => column === 2)
  const sorted = last.toSorted((one, other) => Number(one.isOff) - Number(other.isOff) || middle(one) - middle(other))
  return [...nodes.filter(({ column }) => column < 2), ...sorted]
}

/** What is connected with a node: what leads to it, and where it leads. */
function around(id: string, edges: readonly Edge[]): ReadonlySet<string> {
  const found = new Set([id])
  for (const way of ['from', 'to'] as const) {
    let edge: readonly string[] = [id]
    while (edge.length > 0) {
      const next = edges.filter(one => edge.includes(one[way])).map(one => (way === 'from' ? one.to : one.from))
      edge = next.filter(one => !found.has(one))
      for (const one of edge) found.add(one)
    }
  }
  return found
}

export function Graph({ plan }: { readonly plan: PlanAnswer }) {
  const edges = edgesOf(plan)
  const nodes = untangled(nodesOf(plan), edges)
  const focus = parameter('focus')
  const lit = focus === undefined ? undefined : around(focus, edges)
  const resting = stats.value?.resting ?? []
  const named = (wanted: string): ReadonlySet<string> =>
    new Set(resting.filter(({ state }) => state === wanted).map(({ upstream }) => `upstream:${upstream}`))
  const [cut, probed] = [named('open'), named('half_open')]
  const places = new Map<string, readonly [number, number]>()
  const heights = [0, 0, 0]
  for (const { id, column } of nodes) {
    const y = 32 + (heights[column] ?? 0) * ROW
    heights[column] = (heights[column] ?? 0) + 1
    places.set(id, [COLUMNS[column] ?? 0, y])
  }
  const select = (id: string): void => setParameters({ focus: id === focus ? undefined : id })
  return (
    <section class="picture" aria-label="Picture of the plan">
      <Paths plan={plan} />
      <svg
        class="graph"
        viewBox={`0 0 ${WIDTH} ${40 + Math.max(...heights) * ROW}`}
        aria-label="Keys lead to models, and models to upstreams"
      >
        {['Keys', 'Models', 'Upstreams'].map((title, column) => (
          <text key={title} class="sub" x={COLUMNS[column]} y={16}>
            {title}
          </text>
        ))}
        {edges.map(({ from, to, isLater, share }) => {
          const [start, end] = [places.get(from), places.get(to)]
          if (start === undefined || end === undefined) return null
          const [x, y] = [start[0] + NODE.width, start[1] + NODE.height / 2]
          const [toX, toY] = [end[0], end[1] + NODE.height / 2]
          const isDim = lit !== undefined && !(lit.has(from) && lit.has(to))
          return (
            <g key={`${from} ${to} ${isLater} ${share}`} class={isDim ? 'dim' : ''}>
              <path class={isLater ? 'later' : ''} d={`M${x} ${y}C${x + 70} ${y} ${toX - 70} ${toY} ${toX} ${toY}`} />
              {share === undefined ? null : (
                <text class="sub weight" x={toX - 10} y={toY - 5} text-anchor="end">
                  {share}
                </text>
              )}
            </g>
          )
        })}
        {nodes.map(({ id, name, sub, isOff }) => {
          const [x, y] = places.get(id) ?? [0, 0]
          const isDim = lit !== undefined && !lit.has(id)
          return (
            // biome-ignore lint/a11y/useSemanticElements: SVG has no button
            <g
              key={id}
              class={`${isOff ? 'off' : ''} ${isDim ? 'dim' : ''} ${cut.has(id) ? 'cut' : ''}`}
              role="button"
              tabIndex={0}
              aria-pressed={id === focus}
              onClick={() => select(id)}
              onKeyDown={event => {
                if (event.key === 'Enter' || event.key === ' ') {
                  event.preventDefault()
                  select(id)
                }
              }}
            >
              <rect x={x + 1} y={y} width={NODE.width - 2} height={NODE.height} rx={6} />
              <text x={x + 12} y={y + 20}>
                {short(name, 22)}
              </text>
              <text class="sub" x={x + NODE.width - 12} y={y + 20} text-anchor="end">
                {cut.has(id) ? 'cut off' : probed.has(id) ? 'probing' : short(sub, 18)}
              </text>
            </g>
          )
        })}
      </svg>
      <p class="mut">
        Dashed lines are asked only when an earlier one fails; percents are shares of requests. Dashed frames are off.
        Select one to see its ways alone.
      </p>
      {focus === undefined ? null : <Chosen id={focus} />}
    </section>
  )
}

/** Where to go from a chosen node. */
function Chosen({ id }: { readonly id: string }) {
  const at = id.indexOf(':')
  const [kind, name] = [id.slice(0, at), id.slice(at + 1)]
  const query = encodeURIComponent(name)
  return (
    <p class="group">
      <strong>{name}</strong>
      <a href={`/${kind}s?name=${query}`}>The {kind}, over time</a>
      <a href={`/requests?${kind}=${query}`}>Its requests</a>
      {kind === 'model' ? <a href={`/plan?view=explain&model=${query}`}>Explain a request for it</a> : null}
    </p>
  )
}

/** The same in words, for narrow screens. */
function Paths({ plan: { keys, models } }: { readonly plan: PlanAnswer }) {
  return (
    <dl class="paths">
      {models.slice(0, MAX_NAMES).map(({ name, groups }) => (
        <div key={name}>
          <dt>
            <strong>{name}</strong>
            <br />
            for{' '}
            {keys
              .filter(key => allows(key.models, name))
              .map(key => key.name)
              .join(', ') || 'no key'}
          </dt>
          <dd>{groups.map(group => group.map(({ upstream }) => upstream).join(' and ')).join(', then ')}</dd>
        </div>
      ))}
    </dl>
  )
}
