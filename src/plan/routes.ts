import type { Config, RouteConfig } from '../core/config.js'
import type { Route } from '../core/plan.js'
import { namesState, STATE_MEMBERS } from '../core/stateful.js'
import type { Pattern } from './pattern.js'
import type { Problems } from './problems.js'
import { Protocols } from './protocols.js'
import { type CompileSchema, Schemas } from './schemas.js'
import { FixedService, ModelService, type Parts, type Service } from './service.js'

/** Compiles routes, with what several of them share made once. */
export class RouteCompiler {
  readonly #parts: Parts
  readonly #problems: Problems
  readonly #protocols: Protocols
  readonly #schemas: Schemas
  readonly #services = new Map<string, ModelService>()
  readonly #limits: Route['limits']

  constructor(parts: Parts, compileSchema: CompileSchema, problems: Problems) {
    this.#parts = parts
    this.#problems = problems
    this.#protocols = new Protocols(parts.config.protocols)
    this.#limits = pick(parts.config.limits)
    this.#schemas = new Schemas(parts.config.schemas, compileSchema, problems)
  }

  /** Whether some route can serve the model of that name now. */
  serves(name: string): boolean {
    return [...this.#services.values()].some(service => service.resolve(name) !== undefined)
  }

  compile(id: string, pattern: Pattern, config: RouteConfig): Route {
    const { answer, caller, errors, families, protocol, model, stream, framing, schema, body, shipped } = config
    const service = this.#service(id, pattern, config)
    return {
      id,
      method: pattern.method,
      lane: answer === undefined ? 'exchange' : 'answer',
      answer,
      caller,
      errors,
      families,
      protocol: protocol === undefined ? undefined : this.#protocols.get(protocol),
      model,
      stream,
      framing,
      body,
      control: controlMembers(config),
      validate: schema === undefined ? undefined : this.#schemas.validator(schema, id),
      limits: isEmpty(config.limits) ? this.#limits : { ...this.#limits, ...config.limits },
      resolve: name => service?.resolve(name),
      shipped,
    }
  }

  /** The ways to answer on a route; its calls can be filled in from the model and the route's own parameters only. */
  #service(id: string, { parameters }: Pattern, config: RouteConfig): Service | undefined {
    const service = this.#find(config)
    for (const [name, call] of service?.needs ?? []) {
      if (parameters.includes(name)) continue
      const message = `the upstream's call "${call}" needs {${name}}, which this route does not have`
      this.#problems.error(['routes', id], 'unknown-parameter', message)
    }
    return service
  }

  #find({ protocol, model, upstream, timeouts, retry, strict, request = [] }: RouteConfig): Service | undefined {
    if (protocol === undefined) return undefined
    const offer = { protocol, timeouts, retry, strict, request }
    if (model === undefined) return new FixedService(this.#parts, offer, upstream ?? '')
    const key = JSON.stringify(offer)
    const service = this.#services.get(key) ?? new ModelService(this.#parts, offer)
    this.#services.set(key, service)
    return service
  }
}

function pick({ body, line, event, response, depth, members }: Config['limits']): Route['limits'] {
  return { body, line, event, response, depth, members }
}

function isEmpty(settings: object): boolean {
  return Object.keys(settings).length === 0
}

/** Top-level members of the body that decide what happens. */
function controlMembers({ model, stream, protocol, answer }: RouteConfig): readonly string[] {
  const names = new Set<string>()
  if (model?.from === 'body') names.add(model.name)
  if (typeof stream === 'object' && stream.from === 'body') names.add(stream.name)
  if (namesState(protocol, answer)) for (const name of STATE_MEMBERS) names.add(name)
  return [...names]
}
