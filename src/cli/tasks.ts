import { type Command, InvalidArgumentError, Option } from 'commander'
import { TASK_STATES } from '../core/task.js'
import type { Task, TaskStore } from '../runtime/task-store.js'
import { type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { loadWithSecrets } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly json?: true
  readonly owner?: string
}

interface ListOptions extends Options {
  readonly kind?: string
  readonly state?: Task['state']
  readonly model?: string
  readonly upstream?: string
  readonly limit: number
}

const HEAD = ['id', 'kind', 'key', 'model', 'upstream', 'state', 'progress', 'begun', 'error']

/** `gateway tasks list|show|cancel`: what the gateway keeps of tasks, whether it runs or not. */
export const tasksCommand: Define = (parent, io, end) => {
  const tasks = parent.command('tasks').description('list, show and cancel tasks (long-running work, such as videos)')
  shared(tasks.command('list').description('list tasks by key, oldest first'))
    .option('--kind <kind>', 'only tasks of this kind')
    .addOption(new Option('--state <state>', 'only tasks in this state').choices(TASK_STATES))
    .option('--model <name>', 'only tasks of this model, by its name for clients')
    .option('--upstream <name>', 'only tasks at this upstream')
    .option('--limit <number>', 'maximum number of tasks', count, 100)
    .addHelpText(
      'after',
      example('gateway tasks list --state running', 'gateway tasks list --owner team-search --json'),
    )
    .argument('[file]', FILE_WORDS)
    .action(async (file: string | undefined, options: ListOptions) => end(await list(file, options, io)))
  shared(tasks.command('show').description('show everything known about a task'))
    .argument('<id>', 'id of the task, as its client sees it')
    .addHelpText('after', example('gateway tasks show task_0123456789abcdef0123456789abcdef'))
    .argument('[file]', FILE_WORDS)
    .action(async (id: string, file: string | undefined, options: Options) => end(await show(id, file, options, io)))
  shared(
    tasks
      .command('cancel')
      .description('cancel a task; a running gateway cancels it upstream too, if the upstream supports that'),
  )
    .argument('<id>', 'id of the task, as its client sees it')
    .addHelpText('after', example('gateway tasks cancel task_0123456789abcdef0123456789abcdef'))
    .argument('[file]', FILE_WORDS)
    .action(async (id: string, file: string | undefined, options: Options) => end(await cancel(id, file, options, io)))
}

function shared(command: Command): Command {
  return takesSource(command)
    .option('--owner <key>', 'only tasks of this key')
    .option('--json', 'print JSON; lists have one object per line')
}

async function list(file: string | undefined, { limit, ...options }: ListOptions, io: Io): Promise<number> {
  return await withStore(fileOf(file, options), options, io, async store => {
    const { kind } = options
    if (kind !== undefined && !store.kinds.includes(kind))
      throw new CommandError(`no kind of tasks is called ${kind}; there are: ${store.kinds.join(', ')}`, EXIT.usage)
    const found: Task[] = []
    for await (const task of store.list(options)) {
      found.push(task)
      if (found.length > limit) break
    }
    if (found.length > limit) {
      found.pop()
      print(io.stderr, `only the first ${limit} are shown; raise --limit to see more`)
    }
    if (options.json) for (const task of found) print(io.stdout, JSON.stringify(task))
    else {
      const { bold } = paints(coloured(io.stdout, io.env))
      print(io.stdout, table({ head: HEAD, rows: found.map(row), paint: bold }))
    }
    return EXIT.ok
  })
}

async function show(id: string, file: string | undefined, options: Options, io: Io): Promise<number> {
  return await withStore(fileOf(file, options), options, io, async store => {
    const task = await store.find(id, options.owner)
    if (task === undefined) throw unknown(id)
    const notification = await store.notice(task)
    const known = { ...task, ...(notification === undefined ? {} : { notification }) }
    print(io.stdout, options.json ? JSON.stringify(known) : lines(known))
    return EXIT.ok
  })
}

async function cancel(id: string, file: string | undefined, options: Options, io: Io): Promise<number> {
  return await withStore(fileOf(file, options), options, io, async store => {
    const task = await store.cancel(id, options.owner)
    if (task === undefined) throw unknown(id)
    print(io.stdout, options.json ? JSON.stringify(task) : `${task.id} is ${task.state}`)
    return task.state === 'cancelled' ? EXIT.ok : EXIT.failed
  })
}

async function withStore(
  file: string,
  options: Options,
  io: Io,
  work: (store: TaskStore) => Promise<number>,
): Promise<number> {
  const { plan } = await loadWithSecrets(['store'], file, await withVariables(io, options))
  const { TaskStore } = await import('../runtime/task-store.js')
  const store = await TaskStore.open(plan)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function row({ id, kind, owner, model, target, state, progress, created, error }: Task): readonly string[] {
  return [id, kind, owner, model, target?.upstream ?? '', state, `${progress} %`, moment(created), error?.code ?? '']
}

/** One line per name and value; nested values are JSON. */
function lines(task: object): string {
  const entries = Object.entries(task).map(([name, value]): [string, string] => {
    if (TIMES.has(name) && typeof value === 'number') return [name, moment(value)]
    return [name, typeof value === 'string' ? value : JSON.stringify(value)]
  })
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

const TIMES: ReadonlySet<string> = new Set([
  'created',
  'started',
  'finished',
  'deadline',
  'expires',
  'moved',
  'heard',
  'awaited',
])

function moment(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')
}

function unknown(id: string): CommandError {
  return new CommandError(`there is no task ${id}`, EXIT.failed)
}

function count(text: string): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (number < 1) throw new InvalidArgumentError('A number from 1 to 9999999.')
  return number
}
