import { createRequire } from 'node:module'
import type * as Undici from 'undici'

const require = createRequire(import.meta.url)

/*
 * The parts of undici that we use, by their files: the package as a whole also loads fetch, caches, WebSockets and mocks, which
 * takes 70 ms of a start and 9 MiB. Its version is pinned, and a test asks whether these are still the package's own classes.
 */
export const Pool: typeof Undici.Pool = require('undici/lib/dispatcher/pool.js')
export const Client: typeof Undici.Client = require('undici/lib/dispatcher/client.js')
export type Pool = Undici.Pool
export type Client = Undici.Client

// The package gives `request` and its like to all dispatchers in its index.
Object.assign(require('undici/lib/dispatcher/dispatcher.js').prototype, require('undici/lib/api'))
