import { isIP } from 'node:net'
import type { Config } from '../../core/config.js'
import { CommandError, EXIT, type Io } from '../io.js'
import { mustLoad, type Ready } from '../loading.js'

/** A running gateway, and a key for it. */
export interface Target {
  readonly origin: string
  readonly key: string
}

interface Wanted {
  readonly file: string
  /** Instead of the address in the file. */
  readonly at: string | undefined
  /** The name of a key of the file. */
  readonly keyName: string | undefined
  readonly model: string
}

/** The gateway of a file with a key of that; with an address and the variable GATEWAY_KEY, no file is read. */
export async function targetOf({ file, at, keyName, model }: Wanted, io: Io): Promise<Target> {
  const given = io.env.GATEWAY_KEY
  if (at !== undefined && keyName === undefined && given !== undefined) return { origin: originAt(at), key: given }
  const ready = await mustLoad(file, io)
  const key = await keyOf(ready, keyName, model, io)
  return { origin: at === undefined ? addressOf(ready.config) : originAt(at), key }
}

/** `127.0.0.1:8080` is http. Throws {@link CommandError}. */
export function originAt(at: string): string {
  const url = at.includes('://') ? at : `http://${at}`
  if (!URL.canParse(url)) throw new CommandError(`${at} is not an address such as http://127.0.0.1:8080`)
  return new URL(url).href.replace(/\/(v1\/?)?$/, '')
}

function addressOf({ listen: { host, port, tls } }: Config): string {
  if (port === 0) throw new CommandError('the file names no port: give --at http://127.0.0.1:PORT')
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${tls === undefined ? 'http' : 'https'}://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

/** The secret of a key: of the one that is named, or of the first one that may use the model. */
async function keyOf({ config, plan }: Ready, name: string | undefined, model: string, io: Io): Promise<string> {
  if (name !== undefined && config.keys[name] === undefined)
    throw new CommandError(`the file has no key ${JSON.stringify(name)}`)
  const { generatedKey } = await import('../../runtime/generated-keys.js')
  const names = name === undefined ? Object.keys(config.keys) : [name]
  for (const one of names) {
    for (const secret of config.keys[one]?.secrets ?? []) {
      const found =
        secret.type === 'plain'
          ? secret.secret
          : secret.type === 'generated'
            ? generatedKey(config.store.path, one, false)
            : undefined
      const caller = found === undefined ? undefined : plan.keys.named(one, Date.now())
      const fits = name !== undefined || (caller !== undefined && !('refused' in caller) && caller.may(model))
      if (found !== undefined && fits) return found.reveal()
    }
  }
  if (name === undefined && io.env.GATEWAY_KEY !== undefined) return io.env.GATEWAY_KEY
  const which =
    name === undefined
      ? `no key that may use ${JSON.stringify(model)} is here`
      : `the secret of ${JSON.stringify(name)} is not here`
  throw new CommandError(`${which}: set GATEWAY_KEY`, EXIT.failed)
}
