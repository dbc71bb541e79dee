import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../api.js'
import { day, NONE } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { List } from '../types.js'
import { Card, Empty, Failure, type Level, State } from '../ui/parts.js'
import { attempt } from './run.js'

interface Task {
  readonly id: string
  readonly kind?: string
  readonly owner?: string
  readonly state?: string
  readonly model?: string
  readonly upstream?: string
  readonly progress?: number
  readonly created?: number
  readonly [name: string]: unknown
}

const LEVELS: Readonly<Record<string, Level>> = {
  succeeded: 'ok',
  completed: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  expired: 'idle',
}

/** Where clients ask for tasks of a kind: previews and the end of a task are requests of their owner. */
const PLACES: Readonly<Record<string, string>> = { video: '/v1/videos' }

export function Tasks() {
  const { data, error, again } = useFetched<List<Task>>('/admin/tasks?limit=100', 2000)
  const tasks = data.value?.data ?? []
  const one = tasks.find(({ id }) => id === parameter('id'))
  return (
    <>
      <Failure error={error.value} again={again} />
      {one === undefined ? null : <One key={one.id} task={one} onChange={again} />}
      <Card title="Tasks" aside={<span class="mut">Videos, images and others that the gateway follows</span>}>
        {tasks.length === 0 && data.value !== undefined ? (
          <Empty>
            There are no tasks. <a href="/play?operation=video">Make a video</a> with the simulator to see one.
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

function Standing({ task: { state = NONE, progress } }: { readonly task: Task }) {
  return (
    <State level={LEVELS[state] ?? 'probing'}>
      {state.replaceAll('_', ' ')}
      {progress === undefined || LEVELS[state] !== undefined ? '' : ` ${progress} %`}
    </State>
  )
}

function TaskRow({ task }: { readonly task: Task }) {
  const { id, kind, owner, model, upstream, created } = task
  return (
    <tr>
      <td>
        <a href={`/tasks?id=${encodeURIComponent(id)}`}>
          <code>{id}</code>
        </a>
      </td>
      <td>
        <Standing task={task} />
      </td>
      <td class="hide">{kind}</td>
      <td class="hide">{owner}</td>
      <td>{model}</td>
      <td class="hide">{upstream}</td>
      <td class="n hide">{created === undefined ? NONE : day(created)}</td>
    </tr>
  )
}

/** One task: its result, and the way to end it. */
function One({ task, onChange }: { readonly task: Task; readonly onChange: () => void }) {
  const { id, kind = '', owner = '', state = '', model, upstream } = task
  const failure = useSignal<string | undefined>(undefined)
  const preview = useSignal<{ readonly url: string; readonly type: string } | undefined>(undefined)
  const base = PLACES[kind]
  const target = `${base}/${encodeURIComponent(id)}`
  const hasEnded = LEVELS[state] !== undefined
  const hasResult = LEVELS[state] === 'ok' && base !== undefined
  useEffect(() => {
    if (!hasResult) return
    const load = async (): Promise<void> => {
      const { answer, response } = await attempt({ key: owner, method: 'GET', path: `${target}/content` })
      if (answer.status !== 200) failure.value = `The result cannot be fetched: ${answer.status}.`
      else preview.value = { url: URL.createObjectURL(await response.blob()), type: answer.type }
    }
    void load().catch((cause: unknown) => (failure.value = messageOf(cause)))
    return () => {
      if (preview.value !== undefined) URL.revokeObjectURL(preview.value.url)
    }
  }, [hasResult])
  const end = async (): Promise<void> => {
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
        <Standing task={task} /> {model} at {upstream}, for {owner}
      </p>
      <Failure error={failure.value} />
      {preview.value === undefined ? null : preview.value.type.startsWith('video') ? (
        // biome-ignore lint/a11y/useMediaCaption: it is simulated or has none
        <video class="preview" controls src={preview.value.url} />
      ) : (
        <img class="preview" src={preview.value.url} alt={`The result of ${id}`} />
      )}
      {base === undefined ? null : (
        <p class="group">
          <button type="button" class="btn danger" onClick={() => void end()}>
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
