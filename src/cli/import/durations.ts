/** Seconds or milliseconds as this language writes them. */
export function seconds(number: number): string {
  return Number.isInteger(number) ? `${number}s` : milliseconds(number * 1000)
}

export function milliseconds(number: number): string {
  const whole = Math.max(1, Math.round(number))
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`
}
