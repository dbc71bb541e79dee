import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { clock, count, milliseconds, NONE, short, text, usd } from '../format.js'
import { address, go, parameter, path, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { Line, List } from '../types.js'
import { Icon } from '../ui/icon.js'
import { Empty, Failure, State } from '../ui/parts.js'
import { Request } from './request.js'

const FILTERS = ['key', 'model', 'upstream', 'status', 'slow'] as const
const MAX_ROWS = 200
const FLUSH_MS = 250
const ID = '/requests/'

export function Requests() {
  return path.value.startsWith(ID) ? <Request id={decodeURIComponent(path.value.slice(ID.length))} /> : <RequestList />
}

function queryOf(): string {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = parameter(name)
    if (value !== undefined) query.set(name, value)
  }
  return query.toString()
}

function RequestList() {
  const query = queryOf()
  const { data, error, again } = useFetched<List<Line>>(
    `/admin/requests?limit=${MAX_ROWS}${query === '' ? '' : `&${query}`}`,
  )
  const fresh = useSignal<readonly Line[]>([])
  const waiting = useSignal<readonly Line[]>([])
  const isPaused = useSignal(false)
  const selected = useSignal(-1)
  const paused = useRef(false)
  paused.current = isPaused.value
  useEffect(() => {
    fresh.value = []
    waiting.value = []
    // The tail does not know upstreams; those lines are left out here.
    const upstream = parameter('upstream')
    const tail = new URLSearchParams(query)
    tail.delete('upstream')
    const source = new EventSource(`/admin/tail?${tail}`)
    let gathered: Line[] = []
    source.addEventListener('request', event => {
      const line = JSON.parse((event as MessageEvent<string>).data) as Line
      if (upstream === undefined || line.upstream === upstream) gathered.push(line)
    })
    const timer = setInterval(() => {
      if (gathered.length === 0) return
      const next = gathered.reverse()
      gathered = []
      const to = paused.current ? waiting : fresh
      to.value = [...next, ...to.value].slice(0, MAX_ROWS)
    }, FLUSH_MS)
    return () => {
      clearInterval(timer)
      source.close()
    }
  }, [query])
  const resume = (): void => {
    fresh.value = [...waiting.value, ...fresh.value].slice(0, MAX_ROWS)
    waiting.value = []
    isPaused.value = false
  }
  const seen = new Set<string>()
  const lines = [...fresh.value, ...(data.value?.data ?? [])]
    .filter(({ id }) => !seen.has(id) && seen.add(id))
    .slice(0, MAX_ROWS)
  const walk = (event: KeyboardEvent): void => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      isPaused.value = true
      selected.value = Math.max(0, Math.min(lines.length - 1, selected.value + step))
    }
    const line = lines[selected.value]
    if (event.key === 'Enter' && line !== undefined) go(ID + line.id)
    if (event.key !== 'l') return
    if (isPaused.value) resume()
    else isPaused.value = true
  }
  return (
    <>
      <Filters />
      <Failure error={error.value} again={again} />
      {isPaused.value ? (
        <div class="paused" role="status">
          Paused · {count(waiting.value.length)} new
          <button type="button" class="btn" onClick={resume}>
            Resume
          </button>
        </div>
      ) : (
        <div class="paused quiet">
          <span class="mut">New requests come in at the top.</span>
          <button type="button" class="btn" onClick={() => (isPaused.value = true)}>
            Pause
          </button>
        </div>
      )}
      {lines.length === 0 && data.value !== undefined ? (
        <Empty>
          {query === ''
            ? 'There were no requests since the start. '
            : 'None of the latest requests fits these filters. '}
          <a href="/play">Try a model</a>.
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys j and k walk along its rows
        <section class="card list" aria-label="Requests" tabIndex={0} onKeyDown={walk}>
          <table>
            <thead>
              <tr>
                <th>Time</th>
                <th>Status</th>
                <th class="hide">Key</th>
                <th>Model</th>
                <th class="hide">Upstream</th>
                <th class="hide">Route</th>
                <th class="n hide">First</th>
                <th class="n">Total</th>
                <th class="n hide">Tokens</th>
                <th class="n hide">USD</th>
              </tr>
            </thead>
            <tbody>
              {lines.map((line, index) => (
                <LineRow key={line.id} line={line} isSelected={index === selected.value} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  )
}

export function StatusOf({ line }: { readonly line: Line }) {
  const { status, outcome } = line
  const level = outcome === 'ok' ? 'idle' : outcome === 'client_error' || outcome === 'client_abort' ? 'warn' : 'bad'
  return outcome === 'ok' ? <span class="st plain">{status}</span> : <State level={level}>{status}</State>
}

function LineRow({ line, isSelected }: { readonly line: Line; readonly isSelected: boolean }) {
  const { id, time, key, model, upstream, route, method, path: asked, first_ms, total_ms, cost_usd } = line
  const tokens = (line.input_tokens ?? 0) + (line.output_tokens ?? 0)
  return (
    <tr class={isSelected ? 'selected' : ''}>
      <td>
        <a href={ID + id}>{clock(time)}</a>
      </td>
      <td>
        <StatusOf line={line} />
      </td>
      <td class="hide">{key === undefined ? NONE : <FilterLink name="key" value={key} />}</td>
      <td>{model === undefined ? NONE : <FilterLink name="model" value={model} />}</td>
      <td class="hide">{upstream === undefined ? NONE : <FilterLink name="upstream" value={upstream} />}</td>
      <td class="hide">
        <code>{short(route ?? `${method} ${asked ?? ''}`, 36)}</code>
      </td>
      <td class="n hide">{text(milliseconds(first_ms))}</td>
      <td class="n">{text(milliseconds(total_ms))}</td>
      <td class="n hide">{tokens === 0 ? NONE : count(tokens)}</td>
      <td class="n hide">{cost_usd === undefined ? NONE : usd(cost_usd)}</td>
    </tr>
  )
}

function FilterLink({ name, value }: { readonly name: string; readonly value: string }) {
  const next = new URL(address.value)
  next.searchParams.set(name, value)
  return (
    <a class="quiet" href={next.pathname + next.search} title={`Only ${name} ${value}`}>
      {short(value, 28)}
    </a>
  )
}

function Filters() {
  const name = useSignal<(typeof FILTERS)[number]>('status')
  const value = useSignal('')
  const active = FILTERS.filter(one => parameter(one) !== undefined)
  return (
    <form
      class="bar-of-controls"
      onSubmit={event => {
        event.preventDefault()
        setParameters({ [name.value]: value.value.trim() })
        value.value = ''
      }}
    >
      <select
        aria-label="Filter by"
        value={name.value}
        onChange={event => (name.value = event.currentTarget.value as (typeof FILTERS)[number])}
      >
        {FILTERS.map(one => (
          <option key={one} value={one}>
            {one === 'slow' ? 'slow (ms)' : one}
          </option>
        ))}
      </select>
      <input
        data-filter
        type="text"
        aria-label="Value of the filter"
        placeholder={name.value === 'status' ? '5xx or 404' : name.value === 'slow' ? '2000' : 'name'}
        value={value.value}
        onInput={event => (value.value = event.currentTarget.value)}
      />
      <button type="submit" class="btn">
        Filter
      </button>
      {active.map(one => (
        <button
          type="button"
          class="chip"
          key={one}
          onClick={() => setParameters({ [one]: undefined })}
          title="Remove this filter"
        >
          {one}: {short(parameter(one) ?? '', 24)} <Icon name="close" />
        </button>
      ))}
    </form>
  )
}
