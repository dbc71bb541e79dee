import type { Loaded, LoadOptions } from '../../config/load.js'
import type { ParsedBefore } from '../../config/parsed-files.js'
import type { Config } from '../../core/config.js'
import type { Problem } from '../../core/problems.js'

/** Parts of a configuration that hold entries by name, of which there may be very many. */
export const SECTIONS = [
  'keys',
  'groups',
  'upstreams',
  'models',
  'protocols',
  'resource_kinds',
  'task_kinds',
  'routes',
  'schemas',
] as const
export type Section = (typeof SECTIONS)[number]

/** All else of a configuration. */
export type Settings = Omit<Config, Section>

/** What the thread is started with. */
export type Order = Pick<LoadOptions, 'file' | 'env' | 'overrides' | 'text' | 'documents' | 'parsed' | 'held'>

/** What the thread says first. */
export interface Head {
  readonly problems: readonly Problem[]
  readonly sources: readonly string[]
  readonly watch: readonly string[]
  readonly digest: string
  readonly parsed: ParsedBefore
  readonly documents: Loaded['documents']
  /** A parcel of {@link Settings}; absent where any problem is an error. */
  readonly settings?: unknown
}

/** What the thread is asked then: for more entries, or where paths of the configuration are written. */
export type Question = 'entries' | { readonly locate: readonly string[] }

/** Some entries of the configuration in its order, each a parcel; none when all have been sent. */
export type Entries = readonly (readonly [section: Section, name: string, content: unknown])[]

/** Where each of the paths is written. */
export type Spots = readonly Pick<Problem, 'position' | 'length' | 'excerpt'>[]
