import { useSignal } from '@preact/signals'
import { call, messageOf } from '../api.js'
import { clock, count, counted, milliseconds, NONE, share, text } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import { mayChange } from '../state/session.js'
import type { List, Resting, Row, Series, TestAnswer, Upstream } from '../types.js'
import { Card, Empty, Failure, OnlyLooking, State } from '../ui/parts.js'
import { stateOf } from '../ui/upstream-state.js'
import { UseOverTime } from './use-over-time.js'

const EVERY_MS = 2000

export function Upstreams() {
  const upstreams = useFetched<List<Upstream>>('/admin/upstreams?limit=200', EVERY_MS)
  const series = useFetched<Series>('/admin/series?range=15m', EVERY_MS)
  const rows = new Map((series.data.value?.totals.upstreams ?? []).map(row => [row.name, row]))
  const name = parameter('name')
  const all = upstreams.data.value?.data ?? []
  const on = all.filter(({ off }) => off === undefined)
  const off = all.filter(one => one.off !== undefined)
  const one = all.find(upstream => upstream.name === name)
  return (
    <>
      <Failure error={upstreams.error.value} again={upstreams.again} />
      {one === undefined ? null : (
        <>
          <One key={one.name} upstream={one} row={rows.get(one.name)} />
          {one.off === undefined ? (
            <div class="grid above">
              <UseOverTime key={one.name} scope="upstream" name={one.name} />
            </div>
          ) : null}
        </>
      )}
      <Card title="In use" aside={<span class="mut">The last 15 minutes</span>}>
        {on.length === 0 && upstreams.data.value !== undefined ? (
          <Empty>
            No upstream is on. Set the variable of a secret that the list below names, or{' '}
            <a href="/plan?view=file">add one to the file</a>: <code>upstreams: {'{ sim: { kind: simulator } }'}</code>{' '}
            needs none.
          </Empty>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th class="hide">Kind</th>
                <th class="n">Attempts</th>
                <th class="n">Failed</th>
                <th class="n hide">p50</th>
                <th class="n hide">p95</th>
                <th class="n hide">Secrets</th>
              </tr>
            </thead>
            <tbody>
              {on.map(upstream => (
                <Line key={upstream.name} upstream={upstream} row={rows.get(upstream.name)} />
              ))}
            </tbody>
          </table>
        )}
      </Card>
      {off.length === 0 ? null : (
        <Card title="Off" class="below">
          <table>
            <tbody>
              {off.map(upstream => (
                <tr key={upstream.name}>
                  <td>
                    <strong>{upstream.name}</strong>
                  </td>
                  <td class="mut">{upstream.off}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Card>
      )}
    </>
  )
}

function Line({ upstream, row }: { readonly upstream: Upstream; readonly row: Row | undefined }) {
  const [level, word] = stateOf(upstream, row)
  const { name, kind, secrets, health } = upstream
  const aside = health?.secrets?.length ?? 0
  return (
    <tr>
      <td>
        <a href={`/upstreams?name=${encodeURIComponent(name)}`}>
          <strong>{name}</strong>
        </a>
      </td>
      <td>
        <State level={level}>{word}</State>
      </td>
      <td class="hide">{kind ?? NONE}</td>
      <td class="n">{count(row?.requests ?? 0)}</td>
      <td class="n">{row === undefined ? NONE : text(share(row.failed, row.requests))}</td>
      <td class="n hide">{text(milliseconds(row?.times[0]))}</td>
      <td class="n hide">{text(milliseconds(row?.times[1]))}</td>
      <td class="n hide">{secrets === undefined ? NONE : `${secrets - aside} of ${secrets}`}</td>
    </tr>
  )
}

function One({ upstream, row }: { readonly upstream: Upstream; readonly row: Row | undefined }) {
  const { name, base, speaks = [], health, kind } = upstream
  const [level, word] = stateOf(upstream, row)
  const rests: readonly (readonly [string, Resting])[] = [
    ...(health !== undefined && health.state !== 'closed' ? [['all of it', health] as const] : []),
    ...(health?.models ?? []).map(one => [`model ${one.model}`, one] as const),
    ...(health?.secrets ?? []).map(one => [`secret ${one.credential}`, one] as const),
  ]
  return (
    <Card
      title={name}
      class="above"
      aside={<a href={`/requests?upstream=${encodeURIComponent(name)}`}>Its requests</a>}
    >
      <p>
        <State level={level}>{word}</State> {kind} {base === undefined ? '' : <code>{base}</code>}
      </p>
      {rests.length === 0 ? null : (
        <table>
          <tbody>
            {rests.map(([what, { state, reason, until }]) => (
              <tr key={what}>
                <td>{what}</td>
                <td>
                  <State level={state === 'open' ? 'bad' : 'probing'}>{state === 'open' ? 'Cut off' : 'Probing'}</State>
                </td>
                <td>{reason}</td>
                <td class="n">{until === undefined ? '' : `tried again at ${clock(until)}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {speaks.length === 0 ? null : (
        <details>
          <summary>It serves {counted(speaks.length, 'operation')}</summary>
          <p class="chips">
            {speaks.map(one => (
              <code key={one}>{one}</code>
            ))}
          </p>
        </details>
      )}
      {upstream.off === undefined ? <TestCall name={name} /> : null}
    </Card>
  )
}

/** The cheapest request that is declared for it, with each of its secrets. */
function TestCall({ name }: { readonly name: string }) {
  const answer = useSignal<TestAnswer | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const run = async (): Promise<void> => {
    isBusy.value = true
    error.value = undefined
    try {
      answer.value = await call<TestAnswer>(`/admin/upstreams/${encodeURIComponent(name)}/test`, { method: 'POST' })
    } catch (cause) {
      answer.value = undefined
      error.value = messageOf(cause)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <>
      <div class="bar-of-controls end">
        <button type="button" class="btn" disabled={isBusy.value || !mayChange.value} onClick={() => void run()}>
          {isBusy.value ? 'Asking' : 'Test call'}
        </button>
        {answer.value === undefined ? (
          <span class="mut">Its cheapest request, with its credential. It counts nowhere.</span>
        ) : (
          <code>{answer.value.call}</code>
        )}
      </div>
      <OnlyLooking />
      <div aria-live="polite">
        {error.value === undefined ? null : <p class="bad">{error.value}</p>}
        {answer.value?.results.map(({ credential, status, milliseconds: took, error: why }) => (
          <p key={credential}>
            <State level={status === undefined || status >= 400 ? 'bad' : 'ok'}>
              {status === undefined ? 'No answer' : `Status ${status}`} in {text(milliseconds(took))}
            </State>{' '}
            {credential === undefined ? null : <code>{credential}</code>} {why}
          </p>
        ))}
      </div>
    </>
  )
}
