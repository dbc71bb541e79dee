import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { variableOf } from './address.js'
import type { View } from './view.js'

/** What a file says of a provider in a cloud: the place, and the account. */
export interface CloudWish {
  /** The region itself, where the model's name says it. */
  readonly region?: View | string | undefined
  readonly project?: View | undefined
  /** Of an access key: its id, its secret, and the token of one that ends. */
  readonly keyId?: View | undefined
  readonly keySecret?: View | undefined
  readonly keyToken?: View | undefined
  readonly profile?: View | undefined
  readonly role?: View | undefined
  /** The file of an account, or its content. */
  readonly account?: View | undefined
}

/** What a file says, by the words that `cloud` of the importer's data lists for each part. */
export function cloudWish(data: View, find: (word: string) => View | undefined): CloudWish {
  const parts = data.child('cloud').entries()
  return Object.fromEntries(
    parts.flatMap(([part, words]) => {
      const view = words
        .texts()
        .map(find)
        .find(one => one?.exists === true)
      return view === undefined ? [] : [[part, view] as const]
    }),
  )
}

/** How a kind in a cloud is reached, as `routes/imports/providers.yaml` says. */
export interface Cloud {
  /** Its address with `{region}` and `{project}`; another one for some regions. */
  readonly base: string
  readonly places: JsonObject
  /** Where parts of the address usually are: `{ region: { variable, example } }`. */
  readonly usual: JsonObject
  /** The type of its credential, and the variables that it reads by itself. */
  readonly credential: string
  readonly reads: readonly string[]
}

export function cloudOf(entry: JsonObject): Cloud | undefined {
  const { base, credential, places, usual, reads } = entry
  if (typeof base !== 'string' || typeof credential !== 'string') return undefined
  const list = Array.isArray(reads) ? reads.map(String) : []
  return { base, credential, places: isObject(places) ? places : {}, usual: isObject(usual) ? usual : {}, reads: list }
}

/** The address of the place that a file names. Parts that are in variables, or nowhere, stay variables. */
export function placeOf(cloud: Cloud, { region, project }: CloudWish, at: View): string {
  const given = { region: typeof region === 'string' ? region : region?.text(), project: project?.text() }
  const own = given.region === undefined ? undefined : cloud.places[given.region]
  return (typeof own === 'string' ? own : cloud.base).replaceAll(/\{(region|project)\}/g, (_, part: string) => {
    const written = part === 'region' ? given.region : given.project
    const usual = cloud.usual[part]
    const { variable = '', example = '' } = isObject(usual) ? (usual as Readonly<Record<string, string>>) : {}
    const named = written === undefined ? undefined : variableOf(written)
    if (named === undefined && written !== undefined && /^[a-z0-9][a-z0-9.:-]*$/i.test(written)) return written
    if (named === undefined) at.find('manual', `its ${part} is not in the file: set ${variable}`)
    return `\${${named ?? variable}:-${example}}`
  })
}

/** The credential of the account that a file names; absent where it is the one that the kind finds by itself. */
export function accountOf(cloud: Cloud, wish: CloudWish): { readonly credential?: JsonObject } {
  const found: Record<string, Json> = { ...keyOf(cloud, wish), ...fileOf(cloud, wish.account) }
  for (const name of ['profile', 'role'] as const) {
    const written = wish[name]?.text()
    if (written === undefined || written === '') continue
    if (variableOf(written) === undefined) found[name] = written
    else wish[name]?.find('manual', `it is in a variable: write it as ${name} of the credential`)
  }
  return Object.keys(found).length === 0 ? {} : { credential: { type: cloud.credential, ...found } }
}

/** An access key in variables of its own. One that is written in the file is not copied. */
function keyOf({ reads }: Cloud, { keyId, keySecret, keyToken }: CloudWish): JsonObject {
  const [id, secret] = [keyId?.text(), keySecret?.text()]
  const token = keyToken?.text()
  if (token !== undefined && !reads.includes(variableOf(token) ?? ''))
    keyToken?.find('manual', 'write it as session_token of the credential')
  if (id === undefined && secret === undefined) return {}
  const [named, hidden] = [variableOf(id ?? ''), variableOf(secret ?? '')]
  if (named === undefined || hidden === undefined) {
    const message = `the key is written in the file, and is not copied: set ${reads.slice(0, 2).join(' and ')}`
    keyId?.find('manual', message)
    return {}
  }
  if (reads.includes(named) && reads.includes(hidden)) return {}
  return { access_key_id: `\${${named}:-unset}`, secret: { env: hidden } }
}

function fileOf({ reads }: Cloud, view: View | undefined): JsonObject {
  if (view?.exists !== true) return {}
  const written = view.text()
  if (written === undefined) view.take()
  const variable = variableOf(written ?? '')
  if (variable !== undefined && reads.includes(variable)) return {}
  if (variable === undefined && written !== undefined && /^[^\s{}"]+\.json$/.test(written)) return { file: written }
  view.find('manual', 'the account is not copied: keep it in a file, and write that as file of the credential')
  return {}
}
