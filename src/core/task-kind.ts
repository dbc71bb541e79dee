import { Glob } from './glob.js'

/** In which form clients see tasks: as objects of the compatible interface, as the image-task proxies have them, or as operations. */
export type TaskRecordForm = 'object' | 'image-tasks' | 'operations'

/** A member of a record that is taken from the request that began the task. */
export interface TaskMember {
  /** Top-level members of the request; the first that is there counts. */
  readonly from: readonly string[]
  /** Numbers become texts. */
  readonly as?: 'text'
}

/** A kind of what tasks make, as it is declared. */
export interface TaskKindConfig {
  /** What errors call one. */
  readonly title: string
  /** `object` of the records, and the first word of events. */
  readonly object: string
  readonly record: TaskRecordForm
  readonly members: Readonly<Record<string, TaskMember>>
  /** Whether records have null instead of members without a value. */
  readonly nulls: boolean
  /** The member that names the task that this one is based on. */
  readonly parent?: string
  /** Media types by variant, the one first that a client gets who names none. The first type is used if the upstream sends none. */
  readonly content: Readonly<Record<string, readonly string[]>>
}

/** What content of a variant can be. */
export interface TaskVariant {
  /** Whether it is of this media type: lower case, without parameters. */
  fits(type: string): boolean
  /** Its type where the server says nothing that is of use. */
  readonly type: string
}

/** The same, ready to be used. */
export interface TaskKind extends TaskKindConfig {
  readonly name: string
  readonly variants: ReadonlyMap<string, TaskVariant>
}

export function taskKind(name: string, config: TaskKindConfig): TaskKind {
  const variants = Object.entries(config.content).map(([variant, types]) => [variant, variantOf(types)] as const)
  return { ...config, name, variants: new Map(variants) }
}

/** Tasks whose kind was removed from the configuration are served nowhere, and still end. */
export function undeclaredKind(name: string): TaskKind {
  return taskKind(name, { title: name, object: name, record: 'object', members: {}, nulls: false, content: {} })
}

/** Top-level members of requests that the records of a kind show. */
export function membersRead({ members }: Pick<TaskKindConfig, 'members'>): readonly string[] {
  return Object.values(members).flatMap(({ from }) => from)
}

/** A page of HTML is what servers show where something is wrong: only who names its type gets one. */
const PAGE = 'text/html'

/** Types are whole, `audio/*`, or any: `*\/*`. */
function variantOf(types: readonly string[]): TaskVariant {
  const whole = new Set(types)
  const globs = types.filter(type => type.endsWith('/*')).map(type => new Glob(type))
  return {
    fits: type => whole.has(type) || (type !== PAGE && globs.some(glob => glob.matches(type))),
    type: types[0] ?? 'application/octet-stream',
  }
}
