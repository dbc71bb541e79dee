import { type Check, ok, warning } from './result.js'

/** Upstreams and keys whose secrets are not there. */
export const checkSecrets: Check = async ({ config: { upstreams, keys } }) => {
  const off = Object.entries(upstreams).flatMap(([name, one]) =>
    one.off === undefined || one.off === 'disabled'
      ? []
      : [warning('secret', `upstream ${name}`, `it is off: ${one.off}`, 'Set it, or delete the upstream.')],
  )
  const absent = Object.entries(keys).flatMap(([name, { absent }]) =>
    absent === undefined
      ? []
      : [warning('secret', `key ${name}`, `it cannot be used: ${absent}`, 'Set it, or delete the key.')],
  )
  const found = [...off, ...absent]
  return found.length > 0 ? found : [ok('secret', 'upstreams and keys', 'every secret is there')]
}
