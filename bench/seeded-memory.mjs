// The memory store with tasks in it from the start, as a store of a user's own: `store: { type: ./seeded-memory.mjs }`.
import { MemoryStore } from '../dist/stores/memory.js'
import { seed } from './task-seeds.mjs'

export async function openStore({ templates, open, overdue }) {
  const store = new MemoryStore()
  await seed(store, JSON.parse(templates), { open, due: overdue ? longAgo : later, atOnce: 1 })
  return store
}

const longAgo = (n, now) => now - 60_000 + (n % 60_000)
const later = (n, now) => now + 3_600_000 + n
