import type { TaskKindConfig, TaskMember } from '../core/task-kind.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import type { RawTaskKind } from './raw.generated.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'

/** Members that all records have, with meanings of their own. */
const COMMON: ReadonlySet<string> = new Set([
  ...['id', 'task_id', 'object', 'model', 'status', 'progress', 'created_at', 'completed_at', 'expires_at', 'error'],
])

export function taskKindConfig(name: string, raw: RawTaskKind | undefined): TaskKindConfig {
  const { title = titleOf(name), object = name, record = 'object', nulls = false, parent, content = {} } = raw ?? {}
  const members = Object.entries(raw?.members ?? {}).map(([member, from]) => [member, memberOf(from)] as const)
  const types = Object.entries(content).map(([variant, written]) => {
    const list = [written].flat().map(type => type.toLowerCase())
    return [variant, list] as const
  })
  return {
    ...{ title, object, record, nulls },
    members: Object.fromEntries(members),
    ...(parent === undefined ? {} : { parent }),
    content: Object.fromEntries(types),
  }
}

function memberOf(raw: NonNullable<RawTaskKind['members']>[string]): TaskMember {
  if (typeof raw === 'string' || !('from' in raw)) return { from: [raw].flat() }
  const { from, as } = raw
  return { from: [from].flat(), ...(as === undefined ? {} : { as }) }
}

function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** What records of a fixed form have no place for. */
const BARRED = { 'image-tasks': ['object', 'nulls', 'parent'], operations: ['members', 'nulls', 'parent'] } as const

/** A member of a record means one thing, and some forms of records leave no choice. */
export function checkTaskKinds(kinds: Entries<RawTaskKind>, { report }: Context): void {
  for (const { name, value, site } of kinds.values()) {
    const { record, members = {}, parent, content = {} } = value ?? {}
    for (const [variant, types] of Object.entries(content)) {
      if (typeof types === 'string' || !types[0]?.includes('*')) continue
      const message =
        'the first media type is used if the upstream sends none, so it must not contain *: write audio/mpeg'
      report.error('bad-value', site.child('content', variant, 0), message)
    }
    if (record !== undefined && record !== 'object') {
      for (const key of BARRED[record]) {
        if (value?.[key] === undefined) continue
        report.error('conflict', site.child(key), `records of ${record} cannot have ${key}`, { on: 'key' })
      }
      continue
    }
    for (const member of Object.keys(members)) {
      if (!COMMON.has(member) && member !== parent) continue
      const message = `records of ${name} tasks already have ${quoted(member)}`
      report.error('conflict', site.child('members', member), message, { on: 'key' })
    }
    if (parent !== undefined && COMMON.has(parent)) {
      report.error('conflict', site.child('parent'), `records of ${name} tasks already have ${quoted(parent)}`)
    }
  }
}

/** The kind that a route names has to be declared. */
export function checkTaskKind(kind: string, site: Site, kinds: Entries<RawTaskKind>, { report }: Context): void {
  if (kinds.has(kind)) return
  const known = [...kinds.keys()].sort().join(', ')
  const message = `no kind of tasks is called ${quoted(kind)}; there are: ${known}; declare others under task_kinds`
  report.error('dangling-reference', site, message, { meant: () => suggest(kind, kinds.keys()), of: 'task_kinds' })
}
