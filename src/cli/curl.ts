import type { Config } from '../core/config.js'
import type { Placement } from '../core/placement.js'
import type { Plan, Route } from '../core/plan.js'
import { type Serving, type Variable, variableOf } from './serving.js'

/** A body to try each protocol with, the model left out. */
const BODIES: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: 'user', content: 'Say hello.' }] },
  completions: { prompt: 'Once upon a time' },
  responses: { input: 'Say hello.' },
  embeddings: { input: ['hello'] },
  rerank: { query: 'hello', documents: ['hello, world', 'goodbye'] },
  moderations: { input: 'hello' },
}

/**
 * A request that works when it is pasted into a shell: the first protocol of {@link BODIES} that some key can use with a
 * declared model. Undefined where there is none.
 */
export function curl(serving: Serving): string | undefined {
  const key = presentable(serving)
  if (key === undefined) return undefined
  for (const protocol of Object.keys(BODIES)) {
    const route = serving.plan.routes.find(one => isSimple(one, protocol))
    const model = route && firstModel(serving.config, route, key.may)
    if (route !== undefined && model !== undefined) return command(serving.origin, route, model, key.text)
  }
  return undefined
}

function isSimple(route: Route, protocol: string): boolean {
  const fixed = !route.id.includes('{')
  return fixed && route.protocol?.name === protocol && route.model?.from === 'body' && !route.model.name.includes('.')
}

function firstModel(config: Config, route: Route, may: (model: string) => boolean): string | undefined {
  return Object.keys(config.models).find(name => !name.includes('*') && route.resolve(name) !== undefined && may(name))
}

interface Presentable {
  /** The key as a shell reads it inside double quotes. */
  readonly text: string
  readonly may: (model: string) => boolean
}

/** The key to call with: the file of one that the gateway made itself, else the file or the variable that holds one. Undefined where none is good. */
function presentable({ plan, config, kept, ...variables }: Serving): Presentable | undefined {
  for (const { secret, file } of kept.values()) {
    const caller = usable(plan, secret.reveal())
    if (caller !== undefined) return { text: fromFile(file), may: caller }
  }
  for (const secret of Object.values(config.keys).flatMap(key => key.secrets)) {
    const value = secret.type === 'plain' ? secret.secret.reveal() : undefined
    const caller = value === undefined ? undefined : usable(plan, value)
    const file = secret.type === 'plain' ? secret.file : undefined
    const variable = value === undefined ? undefined : variableOf(value, variables)
    if (caller !== undefined && file !== undefined) return { text: fromFile(file), may: caller }
    if (caller !== undefined && variable !== undefined) return { text: fromVariable(variable), may: caller }
  }
  const good = Object.values(config.keys).some(
    ({ secrets, expires = Number.POSITIVE_INFINITY }) => secrets.length > 0 && expires > Date.now(),
  )
  return good ? { text: '$GATEWAY_KEY', may: () => true } : undefined
}

function usable(plan: Plan, value: string): ((model: string) => boolean) | undefined {
  const caller = plan.keys.find(value, Date.now())
  return 'refused' in caller ? undefined : model => caller.may(model)
}

function command(origin: string, route: Route, model: string, key: string): string {
  const [, path = ''] = route.id.split(' ')
  const placed = place(route.caller, key)
  const name = route.model?.name ?? 'model'
  const body = JSON.stringify({ [name]: model, ...BODIES[route.protocol?.name ?? ''] })
  const lines = [
    `curl ${reachable(origin)}${path}${placed.query}`,
    ...placed.headers.map(header => `-H "${header}"`),
    `-H "content-type: application/json"`,
    `-d ${inSingleQuotes(body)}`,
  ]
  return lines.join(' \\\n  ')
}

function place(placements: readonly Placement[], key: string): { headers: readonly string[]; query: string } {
  const header = placements.find(one => one.in === 'header')
  if (header !== undefined) {
    const scheme = header.scheme === undefined ? '' : `${header.scheme} `
    return { headers: [`${header.name}: ${scheme}${key}`], query: '' }
  }
  const query = placements.find(one => one.in === 'query')
  return { headers: [], query: query === undefined ? '' : `?${query.name}=${key}` }
}

/** Listening on every address is not an address to call. */
function reachable(origin: string): string {
  return origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}

function inSingleQuotes(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fromFile(file: string): string {
  return `$(cat ${inSingleQuotes(file)})`
}

/** What the shell does not have is read as the gateway reads it, by the program that runs it. */
function fromVariable({ name, file }: Variable): string {
  return file === undefined ? `$${name}` : `$(node --env-file=${inSingleQuotes(file)} -p process.env.${name})`
}
