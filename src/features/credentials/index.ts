import type { Plan } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import type { CredentialFault } from '../../net/signer.js'

/** Gets credentials that change ahead of the first request, and reports those that cannot be had. */
class CredentialsService implements Service {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.adopt(kernel.generation.plan)
  }

  adopt({ upstreams }: Plan): void {
    for (const one of upstreams.values()) {
      if (one.source === undefined || one.off !== undefined) continue
      const { signer } = this.#kernel.generation.reach(one).pool
      if (signer === undefined) continue
      signer.onChange = fault => this.#report(one.name, fault)
      signer.prepare().catch(() => undefined)
    }
  }

  /** Why upstreams have no credential, or no newer one, by their names. */
  get faults(): ReadonlyMap<string, string> {
    const faults = new Map<string, string>()
    const { generation } = this.#kernel
    for (const one of generation.plan.upstreams.values()) {
      if (one.source === undefined || one.off !== undefined) continue
      const fault = generation.reach(one).pool.signer?.fault
      if (fault !== undefined) faults.set(one.name, fault.message)
    }
    return faults
  }

  #report(upstream: string, fault: CredentialFault | undefined): void {
    if (fault === undefined) this.#kernel.onNotice({ upstream }, 'an upstream has its credential again', 'info')
    else this.#kernel.onNotice({ upstream, cause: fault.message }, 'an upstream has no new credential')
  }
}

/** Credentials that change: tokens and signatures. Requests get theirs where they are sent (`net/signed-exchange.ts`). */
export const credentials: Feature<CredentialsService> = {
  name: 'credentials',
  open: kernel => new CredentialsService(kernel),
  compile: () => undefined,
}
