import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../api.js'
import { count, day, NONE } from '../format.js'
import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { List, PlanAnswer } from '../types.js'
import { ChooseKey } from '../ui/choose.js'
import { Card, Empty, Failure, type Level, State } from '../ui/parts.js'
import { attempt } from './run.js'

interface File {
  readonly id: string
  readonly filename?: string
  readonly purpose?: string
  readonly bytes?: number
  readonly created_at?: number
}

interface Batch {
  readonly id: string
  readonly status?: string
  readonly endpoint?: string
  readonly created_at?: number
  readonly request_counts?: { readonly total?: number; readonly completed?: number; readonly failed?: number }
}

const LEVELS: Readonly<Record<string, Level>> = {
  completed: 'ok',
  failed: 'bad',
  expired: 'idle',
  cancelled: 'idle',
}

/** Files and batches belong to a key: what its clients would see. */
export function Files() {
  const plan = useFetched<PlanAnswer>('/admin/plan')
  const key = parameter('key') ?? plan.data.value?.keys.find(({ off }) => off === undefined)?.name
  return (
    <>
      <Failure error={plan.error.value} again={plan.again} />
      {plan.data.value === undefined ? null : (
        <div class="fields above">
          <ChooseKey plan={plan.data.value} value={key ?? ''} onChange={next => setParameters({ key: next })} />
        </div>
      )}
      {key === undefined ? (
        <Empty>
          No key works, so there are no files. <a href="/keys">Create a key</a>
        </Empty>
      ) : (
        <>
          <FileList owner={key} />
          <BatchList owner={key} />
        </>
      )}
    </>
  )
}

/** A list as the clients of a key get it. */
function useOwned<T>(owner: string, path: string) {
  const data = useSignal<readonly T[] | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const turn = useSignal(0)
  useEffect(() => {
    let isOver = false
    const read = async (): Promise<void> => {
      const { answer, response } = await attempt({ key: owner, method: 'GET', path: `${path}?limit=100` })
      const body = (await response.json()) as List<T> & { readonly error?: { readonly message?: string } }
      if (isOver) return
      data.value = answer.status === 200 ? body.data : []
      error.value = answer.status === 200 ? undefined : (body.error?.message ?? `${path} answered ${answer.status}.`)
    }
    void read().catch((cause: unknown) => (error.value = messageOf(cause)))
    return () => {
      isOver = true
    }
  }, [owner, path, turn.value])
  /** Makes a request about one of them, and reads the list again. */
  const act = async (method: 'POST' | 'DELETE', target: string): Promise<void> => {
    try {
      const { answer } = await attempt({ key: owner, method, path: target })
      error.value = answer.status < 300 ? undefined : `${target} answered ${answer.status}.`
    } catch (cause) {
      error.value = messageOf(cause)
    }
    turn.value++
  }
  return { data, error, act }
}

function FileList({ owner }: { readonly owner: string }) {
  const { data, error, act } = useOwned<File>(owner, '/v1/files')
  const files = data.value ?? []
  return (
    <Card title="Files" aside={<span class="mut">The latest 100 of {owner}</span>}>
      <Failure error={error.value} />
      {files.length === 0 ? (
        <Empty>{data.value === undefined ? 'Reading.' : <None what={`${owner} has no files.`} />}</Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>File</th>
              <th class="hide">Purpose</th>
              <th class="n">Bytes</th>
              <th class="n hide">Made</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {files.map(({ id, filename, purpose, bytes, created_at }) => (
              <tr key={id}>
                <td>
                  <strong>{filename ?? id}</strong> <code class="hide">{id}</code>
                </td>
                <td class="hide">{purpose}</td>
                <td class="n">{bytes === undefined ? NONE : count(bytes)}</td>
                <td class="n hide">{created_at === undefined ? NONE : day(created_at * 1000)}</td>
                <td class="n">
                  <button
                    type="button"
                    class="btn danger"
                    onClick={() => void act('DELETE', `/v1/files/${encodeURIComponent(id)}`)}
                  >
                    Delete
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}

function None({ what }: { readonly what: string }) {
  return (
    <>
      {what} Clients add one so:
      <br />
      <code>curl $GATEWAY/v1/files -H "authorization: Bearer $GATEWAY_KEY" -F purpose=batch -F file=@lines.jsonl</code>
    </>
  )
}

function BatchList({ owner }: { readonly owner: string }) {
  const { data, error, act } = useOwned<Batch>(owner, '/v1/batches')
  const batches = data.value ?? []
  return (
    <Card title="Batches" class="below" aside={<span class="mut">The latest 100 of {owner}</span>}>
      <Failure error={error.value} />
      {batches.length === 0 ? (
        <Empty>
          {data.value === undefined ? (
            'Reading.'
          ) : (
            <>
              {owner} has no batches. One begins with <code>POST /v1/batches</code> and the id of a file above.
            </>
          )}
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Batch</th>
              <th>State</th>
              <th class="n">Done</th>
              <th class="n hide">Made</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {batches.map(({ id, status = NONE, request_counts: counts = {}, created_at }) => (
              <tr key={id}>
                <td>
                  <code>{id}</code>
                </td>
                <td>
                  <State level={LEVELS[status] ?? 'probing'}>{status.replaceAll('_', ' ')}</State>
                </td>
                <td class="n">
                  {counts.completed ?? 0} of {counts.total ?? 0}
                </td>
                <td class="n hide">{created_at === undefined ? NONE : day(created_at * 1000)}</td>
                <td class="n">
                  {LEVELS[status] === undefined ? (
                    <button
                      type="button"
                      class="btn danger"
                      onClick={() => void act('POST', `/v1/batches/${encodeURIComponent(id)}/cancel`)}
                    >
                      Cancel
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}
