import { day, NONE } from '../format.js'
import { useFetched } from '../state/fetched.js'
import type { List } from '../types.js'
import { Card, Empty, Failure, type Level, State } from '../ui/parts.js'

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

export function Tasks() {
  const { data, error, again } = useFetched<List<Task>>('/admin/tasks?limit=100', 2000)
  const tasks = data.value?.data ?? []
  return (
    <>
      <Failure error={error.value} again={again} />
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

function TaskRow({ task }: { readonly task: Task }) {
  const { id, state = NONE, kind, owner, model, upstream, progress, created } = task
  return (
    <tr>
      <td>
        <code>{id}</code>
      </td>
      <td>
        <State level={LEVELS[state] ?? 'probing'}>
          {state.replaceAll('_', ' ')}
          {progress === undefined || LEVELS[state] !== undefined ? '' : ` ${progress} %`}
        </State>
      </td>
      <td class="hide">{kind}</td>
      <td class="hide">{owner}</td>
      <td>{model}</td>
      <td class="hide">{upstream}</td>
      <td class="n hide">{created === undefined ? NONE : day(created)}</td>
    </tr>
  )
}
