import { codecOf, declarable, partnersOf } from '../codecs/index.js'
import type { Context } from './context.js'
import type { ReadModel } from './models.js'
import type { ReadUpstream } from './upstreams.js'

/** Whether a route has the protocol, or one that can be translated to it. */
export function isAskedFor(protocol: string, spoken: ReadonlyMap<string, unknown>): boolean {
  return [protocol, ...partnersOfProtocol(protocol), ...askersOf(protocol, spoken)].some(one => spoken.has(one))
}

/** Parameters of the routes whose protocols are translated to this one; `undefined` where there are none. */
export function paramsOfPartners(
  protocol: string,
  spoken: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> | undefined {
  const asking = [...partnersOfProtocol(protocol), ...askersOf(protocol, spoken)]
  const partners = asking.flatMap(partner => spoken.get(partner) ?? [])
  return partners.length === 0 ? undefined : new Set(partners.flatMap(params => [...params]))
}

/** Protocols of routes on which a model may be declared to be asked by this one. */
function askersOf(protocol: string, spoken: ReadonlyMap<string, unknown>): readonly string[] {
  return [...spoken.keys()].filter(one => declarable(codecOf(one)).some(codec => codec.protocol === protocol))
}

/** Protocols that can be translated to this one and from it, best first. */
export function partnersOfProtocol(protocol: string): readonly string[] {
  const codec = codecOf(protocol)
  return codec === undefined ? [] : partnersOf(codec).map(partner => partner.protocol)
}

/** The protocol that wants a limit on every answer; requests of the others may have none. */
const LIMITED = 'messages'

/** A target to which requests without a limit would be translated, and no one has said what stands for it. */
export function warnOfMissingLimits(
  model: ReadModel,
  unlimited: (upstream: ReadUpstream) => readonly string[],
  upstreams: ReadonlyMap<string, ReadUpstream>,
  { report }: Context,
): void {
  for (const [index, target] of model.config.targets.entries()) {
    const upstream = upstreams.get(target.upstream)
    const site = model.targets[index]
    if (upstream === undefined || site === undefined || upstream.config.off !== undefined) continue
    const { config } = upstream
    if ([config, model.config, target].some(({ traits }) => traits.max_output !== undefined)) continue
    const translated = unlimited(upstream)
    if (translated.length === 0) continue
    const message = `requests by ${translated.join(', ')} are refused here if they set no limit: write traits: { max_output: 8192 }`
    report.warn('missing-limit', site, message)
  }
}

/** Protocols whose requests may have no limit, and are translated to the one that wants it. */
export function withoutLimits({ endpoints }: ReadUpstream, spoken: ReadonlyMap<string, unknown>): readonly string[] {
  return [...spoken.keys()].filter(
    protocol => !endpoints.has(protocol) && partnersOfProtocol(protocol).find(one => endpoints.has(one)) === LIMITED,
  )
}
