import type { StoreConfig } from '../../core/store-config.js'

/** `postgres db.internal:5432/gateway, schema gateway`. */
export function storeFact(store: StoreConfig): string {
  switch (store.type) {
    case 'memory':
      return store.type
    case 'file':
      return `file ${store.path}`
    case 'module':
      return `module ${store.module}`
    case 'redis': {
      const nodes = store.nodes.map(({ host, port }) => `${host}:${port}`).join(' ')
      return `redis ${nodes}${store.mode === 'single' ? '' : ` (${store.mode})`}, prefix ${store.prefix}`
    }
    case 'postgres':
      return `postgres ${store.host}:${store.port}/${store.database}, schema ${store.schema}`
  }
}
