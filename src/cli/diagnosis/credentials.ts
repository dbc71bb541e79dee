import type { Tried } from '../../runtime/try-credential.js'
import { type Check, fault, ok, type Result, skipped, warning } from './result.js'

/** Asks each upstream for its list of models with its credential. */
export const checkCredentials: Check = async ({ config, io, options }) => {
  if (options.tryCredentials !== true || options.offline === true)
    return [skipped('credential', 'upstreams', 'not tried (--try-credentials asks each for its list of models)')]
  const { credentialTrier } = await import('../../runtime/try-credential.js')
  const { tryAt, close } = await credentialTrier(config, io.env, options.timeoutMs)
  try {
    const results: Result[] = []
    for (const [name, { off }] of Object.entries(config.upstreams)) {
      if (off === undefined) results.push(verdict(name, await tryAt(name)))
    }
    return results
  } finally {
    await close()
  }
}

function verdict(name: string, tried: Tried | undefined): Result {
  if (tried === undefined) return skipped('credential', name, 'its kind has no call that costs nothing')
  const { call, status, fault: why } = tried
  if (status === undefined)
    return fault('credential', name, `${call}: ${why ?? 'no answer'}`, 'See what is said of its connection.')
  if (status < 300) return ok('credential', name, `${call} answered ${status}`)
  if (status === 401 || status === 403)
    return fault(
      'credential',
      name,
      `${call} answered ${status}: it is refused`,
      'Make a new secret at the provider, and set its variable or file.',
    )
  if (status === 402)
    return fault('credential', name, `${call} answered 402: nothing is left to spend`, 'Pay, or take another account.')
  if (status === 429)
    return warning(
      'credential',
      name,
      `${call} answered 429: its rate limit is used up`,
      'Wait, or raise the limit at the provider.',
    )
  return warning(
    'credential',
    name,
    `${call} answered ${status}`,
    'Look at the status page of the provider, and at `base`.',
  )
}
