import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { Source } from '../../config/source.js'
import { Glob } from '../../core/glob.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { packageRoot } from '../../core/package-root.js'
import { providers } from '../providers.js'
import { type Cloud, cloudOf } from './clouds.js'

interface FoundKind {
  readonly kind: string
  /** The address that the kind knows. */
  readonly base: string | undefined
  readonly variable: string | undefined
  readonly takesSecret: boolean
  /** Whether the word says nothing, and only the address speaks for it. */
  readonly guessed: boolean
  /** Whether it is the kind of servers that are known by their address alone. */
  readonly isCompatible: boolean
  /** Whether requests of other protocols are translated to one that wants a limit on every answer. */
  readonly wantsLimit: boolean
  /** The protocols that it speaks, each with its call. */
  readonly speaks: JsonObject
  /** How it is reached in a cloud. */
  readonly cloud: Cloud | undefined
}

interface Said {
  /** Whether the file says an address. */
  readonly hasAddress: boolean
  /** Whether it says a key. */
  readonly isKeyed?: boolean
  readonly model?: string
}

/** The kind for a foreign word, with what else is said; or why there is none. */
export type KindOf = (word: string, said: Said) => FoundKind | { readonly unsupported: string }

export interface Words {
  readonly kindOf: KindOf
  /** The kind of a server that is known by its address alone. */
  readonly compatible: string
  /** Whether a word is known as a provider. */
  readonly isProvider: (word: string) => boolean
  /** The provider of a model that is named without one. */
  readonly guess: (model: string) => string | undefined
}

/** Reads what `routes/imports/providers.yaml` says, with the kinds that there are. */
export async function providerWords(): Promise<Words> {
  const [data, kinds] = await Promise.all([importData('providers'), providers()])
  const compatible = String(data.compatible)
  const known = new Map(kinds.map(one => [one.name, one]))
  const [words, unsupported, guesses] = ['providers', 'unsupported', 'guesses'].map(name => objectAt(data, name))
  const found = (kind: string, guessed = false, cloud?: Cloud): FoundKind => {
    const { base, variable, takesSecret = true, wantsLimit = false, speaks = {} } = known.get(kind) ?? {}
    return { kind, base, variable, takesSecret, guessed, isCompatible: kind === compatible, wantsLimit, speaks, cloud }
  }
  const kindOf: KindOf = (word, { hasAddress, isKeyed = false, model = '' }) => {
    const entry = objectAt(words ?? {}, word.toLowerCase())
    const others = Object.entries(objectAt(entry, 'models'))
    const own = others.find(([glob]) => new Glob(glob).matches(model))?.[1]
    const kinds = [hasAddress ? entry.elsewhere : undefined, isKeyed ? entry.keyed : undefined, own, entry.kind]
    const kind = kinds.find(one => typeof one === 'string')
    if (typeof kind === 'string') {
      const cloud = cloudOf(entry)
      if (cloud === undefined) return found(kind)
      // Only the kind that is for keys takes one; it needs no account.
      return { ...found(kind, false, cloud), takesSecret: kind === entry.keyed }
    }
    const reason = unsupported?.[word.toLowerCase()]
    if (typeof reason === 'string') return { unsupported: reason }
    const plain = [word.toLowerCase(), word.toLowerCase().replaceAll('_', '-')].find(name => known.has(name))
    if (plain !== undefined) return found(plain)
    return hasAddress ? found(compatible, true) : { unsupported: 'it is not known here, and has no address' }
  }
  return {
    kindOf,
    compatible,
    isProvider: word => {
      const kind = kindOf(word, { hasAddress: false })
      return 'kind' in kind || unsupported?.[word.toLowerCase()] !== undefined
    },
    guess: model => {
      const glob = Object.keys(guesses ?? {}).find(name => model.startsWith(name.replace(/\*$/, '')))
      return glob === undefined ? undefined : String(guesses?.[glob])
    },
  }
}

/** A file of `routes/imports`. */
export async function importData(name: string): Promise<JsonObject> {
  const file = join(packageRoot(), 'routes', 'imports', `${name}.yaml`)
  const document = parse(new Source(file, await readFile(file, 'utf8')), true, new Report())
  return isObject(document?.tree.value) ? document.tree.value : {}
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value: Json | undefined = object[name]
  return isObject(value) ? value : {}
}
