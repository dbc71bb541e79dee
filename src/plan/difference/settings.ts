import { resolve } from 'node:path'
import type { Config } from '../../core/config.js'
import { DEFAULTS } from '../../core/defaults.generated.js'
import { Secret } from '../../core/secret.js'
import { ABSENT, type EntryChange, type Side } from './change.js'
import { isWeakerSetting, type Settings } from './weaker-settings.js'
import { digestOf, fromFolder } from './words.js'

/** Sections that concern the process, or every request, and have no entries by name. */
const SECTIONS = [
  'listen',
  'limits',
  'timeouts',
  'retry',
  'health',
  'store',
  'spool',
  'log',
  'transport',
  'overload',
  'reload',
  'workers',
  'media',
  'tasks',
  'webhooks',
  'admin',
  'receipts',
  'record',
  'telemetry',
  'egress',
  'identity',
  'response_schemas',
  'protocols',
  'resource_kinds',
  'task_kinds',
] as const satisfies readonly (keyof Config)[]

/** Settings that say something else, by their path. Paths below the configuration's folder are compared from there. */
export function settingChanges(before: Side, after: Side): readonly EntryChange[] {
  const [was, is] = [settingsOf(before), settingsOf(after)]
  const names = [...new Set([...was.keys(), ...is.keys()])]
  const changed = names.filter(name => was.get(name) !== is.get(name))
  return changed.map(name => ({
    about: 'setting',
    names: [name],
    what: 'value',
    before: was.get(name)?.replace(HIDDEN, 'one') ?? ABSENT,
    after: is.get(name)?.replace(HIDDEN, 'another') ?? ABSENT,
    marks: isWeakerSetting(name, was, is) ? ['weaker'] : [],
  }))
}

/** A secret, or what a file holds, among what is compared: reports say only that it is another one. */
const HIDDEN = /\[secret [0-9a-f]+\]/g

/** By path; what features read themselves has paths like the rest. */
function settingsOf({ config, folder = resolve(config.store.path, '..') }: Side): Settings {
  const sections = SECTIONS.map((name): readonly [string, unknown] => [name, config[name]])
  sections.push(['secret_managers', config.managed?.managers])
  sections.push(['time_zone', config.accounting?.timeZone ?? DEFAULTS.time_zone])
  sections.push(['unpriced', config.accounting?.unpriced])
  for (const { name, options, ...check } of config.checks) {
    // Options may hold a secret: whether they have changed is enough.
    sections.push([`checks.${name}`, { ...check, options: digestOf(options) }])
  }
  return new Map(
    [...sections, ...Object.entries(config.features)].flatMap(([name, value]) => leaves(name, value, folder)),
  )
}

function leaves(path: string, value: unknown, folder: string): (readonly [string, string])[] {
  if (value === undefined) return []
  return walk(path, JSON.parse(fromFolder(JSON.stringify(value, hidden) ?? 'null', folder)))
}

/** `JSON.stringify` has made the text of the secret's own by now: what held it still has the secret. */
function hidden(this: unknown, name: string, value: unknown): unknown {
  const secret: unknown = (this as Readonly<Record<string, unknown>>)[name]
  return secret instanceof Secret ? `[secret ${digestOf(secret.reveal())}]` : value
}

function walk(path: string, value: unknown): (readonly [string, string])[] {
  if (Array.isArray(value)) return [[path, JSON.stringify(value)]]
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, inner]) => walk(`${path}.${name}`, inner))
  }
  return [[path, String(value)]]
}
