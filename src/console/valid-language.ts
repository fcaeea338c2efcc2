// WebKitGTK reports the POSIX locale C as the language, which is not a language tag. The chart's library formats numbers in
// that language as soon as it loads, and would throw before anything is rendered. So main.tsx imports this first.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
