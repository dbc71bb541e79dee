/** Paths that the gateway answers by itself, without a key and whatever the plan says. */
export const HEALTH_PATHS: readonly string[] = ['/livez', '/readyz']
