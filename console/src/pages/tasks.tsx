import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../api.js'
import { day, NONE, short } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import { mayChange } from '../state/session.js'
import type { List } from '../types.js'
import { Bar, Card, Empty, Failure, type Level, OnlyLooking, State } from '../ui/parts.js'
import { attempt } from './run.js'

interface Task {
  readonly id: string
  readonly kind?: string
  readonly owner?: string
  readonly state?: string
  readonly model?: string
  readonly target?: { readonly upstream: string; readonly model: string }
  readonly artifacts?: readonly { readonly variant: string; readonly url?: string }[]
  readonly error?: { readonly code: string; readonly message: string }
  readonly progress?: number
  readonly created?: number
  readonly finished?: number
}

const LEVELS: Readonly<Record<string, Level>> = {
  succeeded: 'ok',
  completed: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  expired: 'idle',
}

/** Where clients ask for tasks of a kind: previews and the end of a task are requests of their owner. */
const PLACES: Readonly<Record<string, { readonly result: (id: string) => string; readonly end?: string }>> = {
  video: { result: id => `/v1/videos/${id}/content`, end: '/v1/videos' },
  image: { result: id => `/mj/image/${id}` },
}

/** The newest: older ones are found by their id, and by `gateway tasks list`. */
const MAX_TASKS = 100

export function Tasks() {
  const id = parameter('id')
  const { data, error, again } = useFetched<List<Task>>(`/admin/tasks?order=newest&limit=${MAX_TASKS}`, 5000)
  const tasks = data.value?.data ?? []
  const owner = parameter('owner') ?? tasks.find(task => task.id === id)?.owner
  const path = id === undefined ? undefined : `/admin/tasks?id=${encodeURIComponent(id)}${ofOwner(owner)}`
  // Without its key it is looked for among the tasks of all keys: once.
  const asked = useFetched<List<Task>>(path, owner === undefined ? undefined : 2000)
  const one = asked.data.value?.data.find(task => task.id === id)
  const isGone = id !== undefined && one === undefined && asked.data.value?.data.length === 0
  const changed = (): void => {
    again()
    asked.again()
  }
  return (
    <>
      <Failure error={error.value ?? asked.error.value} again={changed} />
      {one === undefined ? null : <One key={one.id} task={one} onChange={changed} />}
      {isGone ? <Empty>There is no task of this id: it was deleted, or its time is over.</Empty> : null}
      <Card title="Tasks" aside={<span class="mut">Videos, images and others that the gateway follows</span>}>
        {tasks.length === 0 && data.value !== undefined ? (
          <Empty>
            There are no tasks. <a href="/play?operation=video">Make a video</a> to see one.
          </Empty>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Task</th>
                <th>State</th>
                <th class="hide">Kind</th>
                <th class="hide">Key</th>
                <th>Model</th>
                <th class="hide">Upstream</th>
                <th class="n hide">Began</th>
              </tr>
            </thead>
            <tbody>
              {tasks.map(task => (
                <TaskRow key={task.id} task={task} />
              ))}
            </tbody>
          </table>
        )}
      </Card>
    </>
  )
}

function ofOwner(owner: string | undefined): string {
  return owner === undefined ? '' : `&owner=${encodeURIComponent(owner)}`
}

function Standing({ task: { state = NONE, progress } }: { readonly task: Task }) {
  return (
    <>
      <State level={LEVELS[state] ?? 'probing'}>
        {WORDS[state] ?? state.replaceAll('_', ' ')}
        {progress === undefined || LEVELS[state] !== undefined ? '' : ` ${progress} %`}
      </State>
      {LEVELS[state] === undefined ? (
        <Bar part={(progress ?? 0) / 100} isProgress={true} label={`${progress ?? 0} percent done`} />
      ) : null}
    </>
  )
}

const WORDS: Readonly<Record<string, string>> = {
  queued: 'Waits',
  running: 'Runs',
  succeeded: 'Done',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
  expired: 'Expired',
}

function TaskRow({ task }: { readonly task: Task }) {
  const { id, kind, owner, model, target, created } = task
  return (
    <tr>
      <td>
        <a href={`/tasks?id=${encodeURIComponent(id)}${ofOwner(owner)}`}>
          <code title={id}>{short(id, 20)}</code>
        </a>
      </td>
      <td>
        <Standing task={task} />
      </td>
      <td class="hide">{kind}</td>
      <td class="hide">{owner}</td>
      <td>{model}</td>
      <td class="hide">{target?.upstream ?? NONE}</td>
      <td class="n hide">{created === undefined ? NONE : day(created)}</td>
    </tr>
  )
}

/** One task: its result, and the way to end it. */
function One({ task, onChange }: { readonly task: Task; readonly onChange: () => void }) {
  const { id, kind = '', owner = '', state = '', model, target: placed, error, artifacts = [] } = task
  const failure = useSignal<string | undefined>(undefined)
  const preview = useSignal<{ readonly url: string; readonly type: string } | undefined>(undefined)
  const place = PLACES[kind]
  const target = place?.end === undefined ? undefined : `${place.end}/${encodeURIComponent(id)}`
  const hasEnded = LEVELS[state] !== undefined
  const hasResult = LEVELS[state] === 'ok' && place !== undefined
  useEffect(() => {
    if (!hasResult || place === undefined) return
    const load = async (): Promise<void> => {
      const { answer, response } = await attempt({
        key: owner,
        method: 'GET',
        path: place.result(encodeURIComponent(id)),
      })
      if (answer.status !== 200) failure.value = `The result cannot be fetched: ${answer.status}.`
      else preview.value = { url: URL.createObjectURL(await response.blob()), type: answer.type }
    }
    void load().catch((cause: unknown) => (failure.value = messageOf(cause)))
    return () => {
      if (preview.value !== undefined) URL.revokeObjectURL(preview.value.url)
    }
  }, [hasResult])
  const end = async (): Promise<void> => {
    if (target === undefined) return
    try {
      const { answer } = await attempt({ key: owner, method: 'DELETE', path: target })
      failure.value = answer.status < 300 ? undefined : `The gateway answered ${answer.status}.`
    } catch (cause) {
      failure.value = messageOf(cause)
    }
    onChange()
  }
  return (
    <Card title={id} class="above" aside={<a href="/tasks">Close</a>}>
      <p>
        {model}
        {placed === undefined ? '' : ` at ${placed.upstream}`}, for {owner}
      </p>
      <div class="standing">
        <Standing task={task} />
      </div>
      {error === undefined ? null : (
        <p class="bad">
          <code>{error.code}</code> {error.message}
        </p>
      )}
      {artifacts.map(({ variant, url }) =>
        url === undefined || place !== undefined ? null : (
          <p key={variant}>
            <a href={url} target="_blank" rel="noopener noreferrer">
              Its {variant} at the provider
            </a>
          </p>
        ),
      )}
      <Failure error={failure.value} />
      {preview.value === undefined ? null : preview.value.type.startsWith('video') ? (
        // biome-ignore lint/a11y/useMediaCaption: it is simulated or has none
        <video class="preview" controls src={preview.value.url} />
      ) : (
        <img class="preview" src={preview.value.url} alt={`The result of ${id}`} />
      )}
      {target === undefined ? null : <OnlyLooking />}
      {target === undefined ? null : (
        <p class="group">
          <button type="button" class="btn danger" disabled={!mayChange.value} onClick={() => void end()}>
            {hasEnded ? 'Delete' : 'Cancel'}
          </button>
          <span class="mut">
            A request of {owner}: DELETE {target}
          </span>
        </p>
      )}
    </Card>
  )
}
