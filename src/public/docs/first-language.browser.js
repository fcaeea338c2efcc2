// In <head>, so that the browser draws the samples in the chosen language from the start.
{
  const languages = ["curl", "javascript", "python", "go"];
  let stored;
  try {
    stored = localStorage.getItem("plant-store-language");
  } catch {
    // The browser is set to keep nothing for this site.
  }
  document.documentElement.dataset.language = languages.includes(stored) ? stored : "curl";
}
