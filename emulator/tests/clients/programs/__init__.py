"""Small programs that use one client each; they run in environments where nothing of this project is installed."""
