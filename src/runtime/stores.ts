import { join } from 'node:path'
import { type Store, StoreError } from '../core/store.js'
import type { SchemaFacts, StoreConfig, StoreEvents } from '../core/store-config.js'
import { MemoryStore } from '../stores/memory.js'
import { StartError } from './problems.js'

/** The default for callers without a listener. */
export const UNHEARD: StoreEvents = { warn: () => undefined, down: () => undefined, up: () => undefined }

/** Opens the store that the configuration asks for. Throws {@link StartError} with one clear line where that cannot be. */
export async function openStore(config: StoreConfig, events: StoreEvents = UNHEARD): Promise<Store> {
  try {
    return await driverOf(config, events)
  } catch (error) {
    throw startErrorOf(error, config)
  }
}

/**
 * The schema in the store and the one of this program; undefined where the type knows no schema. Changes nothing. Throws
 * {@link StartError}.
 */
export async function inspectStore(
  config: StoreConfig,
  events: StoreEvents = UNHEARD,
): Promise<SchemaFacts | undefined> {
  try {
    return await inspect(config, events)
  } catch (error) {
    throw startErrorOf(error, config)
  }
}

async function inspect(config: StoreConfig, events: StoreEvents): Promise<SchemaFacts | undefined> {
  checkSecrets(config)
  switch (config.type) {
    case 'file':
      return (await import('../stores/file.js')).FileStore.inspect(storeFolder(config))
    case 'redis':
      return (await import('../stores/redis.js')).RedisStore.inspect(config, events)
    case 'postgres':
      return (await import('../stores/postgres.js')).PostgresStore.inspect(config, events)
    default:
      return undefined
  }
}

function checkSecrets({ absent }: StoreConfig): void {
  if (absent !== undefined) throw new StoreError('refused', `the store cannot be used: ${absent}`)
}

/** Libraries are loaded only where they are used. Throws {@link StoreError}. */
async function driverOf(config: StoreConfig, events: StoreEvents): Promise<Store> {
  checkSecrets(config)
  switch (config.type) {
    case 'memory':
      return new MemoryStore()
    case 'file': {
      const { FileStore } = await import('../stores/file.js')
      return new FileStore(storeFolder(config))
    }
    case 'redis': {
      const { RedisStore } = await import('../stores/redis.js')
      return RedisStore.open(config, events)
    }
    case 'postgres': {
      const { PostgresStore } = await import('../stores/postgres.js')
      return PostgresStore.open(config, events)
    }
    case 'module': {
      const { openModule } = await import('./store-module.js')
      return openModule(config, events)
    }
  }
}

/** Folder of the file store. */
export function storeFolder({ path }: { readonly path: string }): string {
  return join(path, 'store')
}

/** One line that says what to do. */
export function startErrorOf(error: unknown, config: StoreConfig): unknown {
  if (!(error instanceof StoreError)) return error
  return new StartError(`${error.message}${ADVICE[config.type]?.[error.fault] ?? ''}`)
}

const SERVER = {
  refused: '; check the section store of the configuration, and that the server runs',
  newer: '; start the newer version',
  unavailable: '; check that the server runs',
}

const ADVICE: Partial<Record<StoreConfig['type'], Partial<Record<StoreError['fault'], string>>>> = {
  file: {
    refused: '; choose another folder (store.path), or store nothing (store: { type: memory })',
    newer: '; start the newer version, or choose another folder (store.path)',
  },
  redis: { ...SERVER, newer: '; start the newer version, or choose another prefix (store.prefix)' },
  postgres: { ...SERVER, newer: '; start the newer version, or choose another schema (store.schema)' },
}
