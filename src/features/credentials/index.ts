import { numbered } from '../../core/numbered.js'
import type { Plan, Upstream } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import type { CredentialFault, RequestSigner } from '../../net/signer.js'

/** Gets credentials that change ahead of the first request, and reports those that cannot be had. */
class CredentialsService implements Service {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.adopt(kernel.generation.plan)
  }

  adopt({ upstreams }: Plan): void {
    for (const upstream of upstreams.values()) {
      for (const { credential, signer } of this.#signersOf(upstream)) {
        const named = { upstream: upstream.name, ...(upstream.others.length === 0 ? {} : { credential }) }
        signer.onChange = fault => this.#report(named, fault)
        signer.prepare().catch(() => undefined)
      }
    }
  }

  /** Why upstreams have no credential, or no newer one, by their names. */
  get faults(): ReadonlyMap<string, string> {
    const faults = new Map<string, string>()
    for (const upstream of this.#kernel.generation.plan.upstreams.values()) {
      const found = this.#signersOf(upstream).flatMap(({ signer }) => signer.fault ?? [])
      const [first] = found
      if (first === undefined) continue
      const count = upstream.others.length === 0 ? '' : `${numbered(found.length, 'secret')}: `
      faults.set(upstream.name, count + first.message)
    }
    return faults
  }

  /** Of each of the secrets that take turns. */
  #signersOf(
    upstream: Upstream,
  ): readonly { readonly credential: string | undefined; readonly signer: RequestSigner }[] {
    return [upstream, ...upstream.others].flatMap(one => {
      if (one.source === undefined || one.off !== undefined) return []
      const { signer } = this.#kernel.generation.reach(one).pool
      return signer === undefined ? [] : [{ credential: one.credential, signer }]
    })
  }

  #report(upstream: object, fault: CredentialFault | undefined): void {
    if (fault === undefined) this.#kernel.onNotice(upstream, 'an upstream has its credential again', 'info')
    else this.#kernel.onNotice({ ...upstream, cause: fault.message }, 'an upstream has no new credential')
  }
}

/** Credentials that change: tokens and signatures. Requests get theirs where they are sent (`net/signed-exchange.ts`). */
export const credentials: Feature<CredentialsService> = {
  name: 'credentials',
  open: kernel => new CredentialsService(kernel),
  compile: () => undefined,
}
