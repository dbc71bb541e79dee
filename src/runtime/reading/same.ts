import { Secret } from '../../core/secret.js'

/** Whether two pieces of a configuration say the same. The order of members counts: verbs act in that order. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (one instanceof Secret || other instanceof Secret) {
    return one instanceof Secret && other instanceof Secret && one.reveal() === other.reveal()
  }
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && areSame(one, other)
  }
  return areSame(Object.keys(one), Object.keys(other)) && areSame(Object.values(one), Object.values(other))
}

function areSame(ones: readonly unknown[], others: readonly unknown[]): boolean {
  return ones.length === others.length && ones.every((one, index) => isSame(one, others[index]))
}
