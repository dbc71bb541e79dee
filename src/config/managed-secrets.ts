import { createHash } from 'node:crypto'
import { Secret } from '../core/secret.js'
import { type Held, type ManagedSecret, type Manager, managedId } from '../core/secret-managers.js'
import type { Site } from './document.js'
import type { RawSecret } from './raw.generated.js'

const WORDS: readonly (readonly [Manager, 'vault' | 'aws_secret' | 'gcp_secret'])[] = [
  ['vault', 'vault'],
  ['aws', 'aws_secret'],
  ['gcp', 'gcp_secret'],
]

interface Wanted {
  readonly secret: ManagedSecret
  readonly site: Site
  /** That name it. */
  readonly sections: Set<string>
}

/** Secrets in managers: those that are known, and those that one load asks for. */
export class ManagedSecrets {
  readonly #held: ReadonlyMap<string, Held>
  readonly #wanted = new Map<string, Wanted>()

  constructor(held: ReadonlyMap<string, Held>) {
    this.#held = held
  }

  /** Without repetitions, each with the first place that names it. */
  get wanted(): readonly Wanted[] {
    return [...this.#wanted.values()]
  }

  /** A secret that no one has fetched yet is assumed to be there. */
  want(
    secret: ManagedSecret,
    site: Site,
  ): { readonly secret: Secret; readonly assumed?: true } | { readonly absent: string; readonly empty: false } {
    const id = managedId(secret)
    const wanted = this.#wanted.get(id) ?? { secret, site, sections: new Set() }
    this.#wanted.set(id, wanted)
    wanted.sections.add(String(site.path[0]))
    const held = this.#held.get(id)
    if (held === undefined) return { secret: new Secret(`assumed secret of ${id}`), assumed: true }
    if ('fault' in held) return { absent: `${id} could not be fetched: ${held.fault}`, empty: false }
    return { secret: new Secret(held.text) }
  }

  /** Of what is known of the wanted secrets; undefined where there are none. */
  get digests(): readonly (readonly [string, string | undefined])[] | undefined {
    if (this.#wanted.size === 0) return undefined
    return [...this.#wanted.keys()].sort().map(id => {
      const held = this.#held.get(id)
      const text = held === undefined ? undefined : 'text' in held ? `=${held.text}` : '!'
      return [id, text && createHash('sha256').update(text).digest('hex')]
    })
  }
}

/** The secret in a manager that is meant; undefined: it is elsewhere. A text says what is wrong. */
export function managedSecretOf(raw: RawSecret): ManagedSecret | string | undefined {
  const places = [raw.env, raw.file, ...WORDS.map(([, word]) => raw[word])].filter(one => one !== undefined)
  const found = WORDS.find(([, word]) => raw[word] !== undefined)
  if (places.length !== 1)
    return 'use one of env, file, vault, aws_secret and gcp_secret, with field beside the last three'
  if (found === undefined)
    return raw.field === undefined ? undefined : 'field belongs beside vault, aws_secret or gcp_secret'
  const [manager, word] = found
  return { manager, name: raw[word] ?? '', ...(raw.field === undefined ? {} : { field: raw.field }) }
}
